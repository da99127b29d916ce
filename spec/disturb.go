package spec

// Disturbance is deliberate competition while the lab is up, made by nines-disturb: for Length in
// each Period.
type Disturbance struct {
	// Kind is the kind of disturbance.
	Kind DisturbanceKind `yaml:"kind" json:"kind"`
	// Node is the node whose CPU is disturbed: its engine's CPU, else its first; with kind stop,
	// the node's engine itself.
	Node string `yaml:"node,omitempty" json:"node,omitempty"`
	// CPU is the CPU that is disturbed; it excludes Node. Without either, the kernel chooses the
	// CPU.
	CPU *int `yaml:"cpu,omitempty" json:"cpu,omitempty"`
	// Period is the time from one start to the next (default 10ms).
	Period Duration `yaml:"period,omitempty" json:"period,omitempty"`
	// Length is how long each lasts (default 200us).
	Length Duration `yaml:"length,omitempty" json:"length,omitempty"`
	// Scheduling is the policy of the disturbing thread (default other).
	Scheduling *Scheduling `yaml:"scheduling,omitempty" json:"scheduling,omitempty"`
}

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

// Remote is true for the kinds that disturb a CPU from another CPU, so that they need not be
// allowed on the one they disturb.
func (k DisturbanceKind) Remote() bool {
	switch k {
	case DisturbSoftirq, DisturbIPI, DisturbStop:
		return true
	case DisturbSpin, DisturbFork, DisturbTLB, DisturbTimers:
	}
	return false
}
