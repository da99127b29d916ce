package spec

import "slices"

// DisturbanceKind is a way of disturbing a CPU or a process.
type DisturbanceKind string

// The kinds of disturbance; folder programs/nines-disturb has one file each.
const (
	// DisturbSpin keeps the CPU busy, as a computing process does.
	DisturbSpin DisturbanceKind = "spin"
	// DisturbFork starts and reaps processes.
	DisturbFork DisturbanceKind = "fork"
	// DisturbSoftirq has the CPU receive other packets, in the softirq NET_RX.
	DisturbSoftirq DisturbanceKind = "softirq"
	// DisturbIPI interrupts the CPU from another one.
	DisturbIPI DisturbanceKind = "ipi"
	// DisturbTLB flushes the CPU's TLB from another one.
	DisturbTLB DisturbanceKind = "tlb"
	// DisturbTimers has timers expire on the CPU.
	DisturbTimers DisturbanceKind = "timers"
	// DisturbStop stops the node's engine, and continues it.
	DisturbStop DisturbanceKind = "stop"
)

// DisturbanceDescriptor describes a kind of disturbance. The checks of a file, its schema and plans read it.
type DisturbanceDescriptor struct {
	Kind DisturbanceKind
	// OfEngine is true where a node's engine is disturbed, whichever CPU it is on.
	OfEngine bool
	// Thread is true where a thread runs on the disturbed CPU, which must be allowed there.
	Thread bool
	// FromOther is true where another CPU disturbs it.
	FromOther bool
	// NeedsCPU is true where the kernel cannot choose the CPU.
	NeedsCPU bool
}

// disturbances lists every kind, in the order of docs/reference/experiment-file.md.
var disturbances = []DisturbanceDescriptor{
	{Kind: DisturbSpin, Thread: true},
	{Kind: DisturbFork, Thread: true},
	{Kind: DisturbSoftirq, FromOther: true},
	{Kind: DisturbIPI, FromOther: true, NeedsCPU: true},
	{Kind: DisturbTLB, Thread: true, FromOther: true, NeedsCPU: true},
	{Kind: DisturbTimers, Thread: true},
	{Kind: DisturbStop, OfEngine: true},
}

// Descriptor returns the descriptor of a kind, and an empty one for an unknown kind.
func (k DisturbanceKind) Descriptor() *DisturbanceDescriptor {
	if i := slices.IndexFunc(disturbances, func(d DisturbanceDescriptor) bool { return d.Kind == k }); i >= 0 {
		return &disturbances[i]
	}
	return &DisturbanceDescriptor{Kind: k}
}

// CPUDisturbances lists the kinds that disturb a CPU and satisfy a condition.
func CPUDisturbances(isSo func(*DisturbanceDescriptor) bool) []string {
	var kinds []string
	for i := range disturbances {
		if d := &disturbances[i]; !d.OfEngine && isSo(d) {
			kinds = append(kinds, string(d.Kind))
		}
	}
	return kinds
}

func disturbanceKinds() []string {
	kinds := make([]string, len(disturbances))
	for i, d := range disturbances {
		kinds[i] = string(d.Kind)
	}
	return kinds
}
