package spec

// Disturbance is competition made on purpose while the lab is up, by nines-disturb: for
// Length in each Period.
type Disturbance struct {
	// Kind is what is done.
	Kind DisturbanceKind `yaml:"kind" json:"kind"`
	// Node has the CPU that is disturbed: its engine's, else its first; of kind stop the
	// node's engine itself.
	Node string `yaml:"node,omitempty" json:"node,omitempty"`
	// CPU is the one that is disturbed; it excludes Node. Without both it happens
	// wherever the kernel puts it.
	CPU *int `yaml:"cpu,omitempty" json:"cpu,omitempty"`
	// Period is from one begin to the next (default 10ms).
	Period Duration `yaml:"period,omitempty" json:"period,omitempty"`
	// Length is how long each lasts (default 200us).
	Length Duration `yaml:"length,omitempty" json:"length,omitempty"`
	// Scheduling is that of the thread that disturbs (default other).
	Scheduling *Scheduling `yaml:"scheduling,omitempty" json:"scheduling,omitempty"`
}

// DisturbanceKind is a way of disturbing a CPU or a process.
type DisturbanceKind string

// The kinds of disturbance; folder programs/nines-disturb has one file each.
const (
	// DisturbSpin takes the CPU, as a process that computes does.
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
	// DisturbStop stops the node's engine, and lets it go on.
	DisturbStop DisturbanceKind = "stop"
)

// Remote is true for the kinds that are done from another CPU than the one that they
// disturb, which need not be allowed there.
func (k DisturbanceKind) Remote() bool {
	switch k {
	case DisturbSoftirq, DisturbIPI, DisturbStop:
		return true
	case DisturbSpin, DisturbFork, DisturbTLB, DisturbTimers:
	}
	return false
}
