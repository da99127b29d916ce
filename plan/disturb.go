package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// Disturbance is a process that disturbs a CPU, or a node's engine, while the lab is up.
type Disturbance struct {
	Name string               `json:"name"`
	Kind spec.DisturbanceKind `json:"kind"`
	// CPU is the CPU that is disturbed; -1 where a process is disturbed, or the kernel chooses the
	// CPU.
	CPU int `json:"cpu"`
	// From is the CPU that disturbs it, for kinds that act from another CPU; -1: any other.
	From int `json:"from"`
	// Node is the node whose engine is stopped, with kind stop.
	Node       string                  `json:"node,omitempty"`
	Period     spec.Duration           `json:"period"`
	Length     spec.Duration           `json:"length"`
	Pattern    spec.DisturbancePattern `json:"pattern"`
	Scheduling *spec.Scheduling        `json:"scheduling,omitempty"`
	// Why says whose CPU it is.
	Why string `json:"why"`
}

// disturb chooses the CPUs that are disturbed.
func (w *work) disturb() error {
	for _, name := range slices.Sorted(maps.Keys(w.exp.Disturb)) {
		s := w.exp.Disturb[name]
		kind := s.Kind.Descriptor()
		d := Disturbance{Name: name, Kind: s.Kind, CPU: -1, From: -1, Period: s.Period, Length: s.Length, Pattern: s.Pattern, Scheduling: s.Scheduling}
		place := "disturb." + name
		switch {
		case kind.OfEngine:
			d.Node, d.Why = s.Node, "the engine of node "+s.Node
		case s.Node != "":
			n := w.byName[s.Node]
			if n == nil {
				return at(&Conflict{place, fmt.Sprintf("node %q does not exist", s.Node), ""}, []string{"disturb", name})
			}
			d.CPU, d.Why = n.disturbedCPU(), "the CPU of node "+s.Node
		case s.CPU != nil:
			if d.CPU, d.Why = *s.CPU, "named by cpu"; !slices.Contains(w.usable(), d.CPU) {
				return at(&Impossible{fmt.Sprintf("%s: disturb CPU %d", place, d.CPU),
					"this process may use " + cpulist.Format(w.usable()), "name one of them, or a node"}, []string{"disturb", name})
			}
		default:
			d.Why = "wherever the kernel puts it"
		}
		if slices.Contains(w.isolated, d.CPU) && kind.Thread {
			return at(&Conflict{place, fmt.Sprintf("CPU %d is isolated, and %s would have a thread there", d.CPU, s.Kind),
				"isolation keeps it off: use isolation: affinity, or a kind that comes from elsewhere (" + cpuDisturbances(isElsewhere) + ")"}, []string{"disturb", name})
		}
		others := slices.DeleteFunc(slices.Clone(w.cpus.housekeeping), func(id int) bool { return id == d.CPU })
		switch {
		case !kind.FromOther || d.CPU < 0:
		case len(others) > 0:
			d.From = others[0]
		case len(w.usable()) < 2:
			return at(&Impossible{fmt.Sprintf("%s disturbs CPU %d from another one", place, d.CPU), "this process may use no other",
				"use a kind that needs none: " + cpuDisturbances(isAlone)}, []string{"disturb", name})
		}
		w.disturbances = append(w.disturbances, d)
	}
	return nil
}

// isElsewhere is for kinds without a thread on the CPU that they disturb, isAlone for those that need no other CPU.
func isElsewhere(d *spec.DisturbanceDescriptor) bool { return !d.Thread }
func isAlone(d *spec.DisturbanceDescriptor) bool     { return !d.FromOther }

// cpuDisturbances names the kinds that disturb a CPU so, for a remedy.
func cpuDisturbances(isSo func(*spec.DisturbanceDescriptor) bool) string {
	return strings.Join(spec.CPUDisturbances(isSo), ", ")
}

// disturbedCPU is the CPU that handles a node's packets.
func (n *node) disturbedCPU() int {
	if n.engineCPU >= 0 {
		return n.engineCPU
	}
	if n.remote() {
		return -1 // spec refuses it
	}
	return n.cpus[0]
}

// Where names what is disturbed: "CPU 1", "the engine of dut".
func (d Disturbance) Where() string {
	switch {
	case d.Node != "":
		return "the engine of " + d.Node
	case d.CPU < 0:
		return "any CPU"
	}
	return fmt.Sprintf("CPU %d", d.CPU)
}

// writeDisturbances lists what is disturbed deliberately.
func (p *Plan) writeDisturbances(t *terminal.Table) {
	if len(p.Disturbances) > 0 {
		t.Row()
		t.Row("DISTURBANCE", "KIND", "OF", "FOR", "EVERY", "PATTERN", "FROM", "SCHEDULING", "WHY")
	}
	for _, d := range p.Disturbances {
		from, policy := "-", "other"
		if d.From >= 0 {
			from = fmt.Sprintf("CPU %d", d.From)
		}
		if d.Scheduling != nil {
			policy = d.Scheduling.String()
		}
		t.Row(d.Name, d.Kind, d.Where(), d.Length, d.Period, d.Pattern, from, policy, d.Why)
	}
}
