package doctor

import (
	"slices"

	"nines.dev/nines/host"
	"nines.dev/nines/host/tune"
	"nines.dev/nines/spec"
)

// Scope is what a host is judged for.
type Scope struct {
	// CPUs are those that send, forward and receive packets, sorted. Why says how they
	// were chosen.
	CPUs []int
	Why  string
	// Housekeeping are the other CPUs, for all other work; at least one.
	Housekeeping []int
	// Sleeps is true if something waits in the kernel for packets, so that CPUs can
	// sleep; false where everything spins.
	Sleeps bool
	// RealTime is true if something runs with a real-time policy.
	RealTime bool
	// NICs are the cards that packets go through; empty: all.
	NICs []string
	// Apart are the chosen CPUs that the experiment keeps free of other processes.
	// Quiet are those that it also keeps free of interrupts and kernel work.
	Apart, Quiet []int
	// Isolation and Tuning are the experiment's; empty without one.
	Isolation spec.Isolation
	Tuning    spec.Tuning
}

// own are the chosen CPUs without housekeeping, or all of them where none is left.
func (s Scope) own() []int {
	var list []int
	for _, id := range s.CPUs {
		if !slices.Contains(s.Housekeeping, id) {
			list = append(list, id)
		}
	}
	if len(list) == 0 {
		return s.CPUs
	}
	return list
}

// Default chooses the CPUs of a host that is judged without an experiment: the CPUs
// isolated at boot, otherwise all but the first core's, which is left to the host.
func Default(inv *host.Inventory) Scope {
	s := Scope{Sleeps: true}
	var apart, beside []int
	first := []int{}
	for _, id := range inv.AllowedCPUs {
		cpu, err := inv.CPU(id)
		if err != nil {
			continue
		}
		if len(first) == 0 {
			first = append(first, cpu.Siblings...)
			first = append(first, id)
		}
		if cpu.Isolated || cpu.NoHzFull {
			apart = append(apart, id)
		}
		if !slices.Contains(first, id) {
			beside = append(beside, id)
		}
	}
	switch {
	case len(apart) > 0:
		s.CPUs, s.Why = apart, "set apart at boot by isolcpus or nohz_full"
	case len(beside) > 0:
		s.CPUs, s.Why = beside, "all but the first core, which is left to the host"
	default:
		s.CPUs, s.Why = slices.Clone(inv.AllowedCPUs), "all CPUs"
	}
	s.Housekeeping = tune.Housekeeping(inv, s.CPUs)
	return s
}
