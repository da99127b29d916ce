package undisturbed

import "iter"

// Packet is when a packet was due to be sent and when it was received, both on one clock that is 0 at the trial's begin.
type Packet struct{ DueNs, ReceivedNs int64 }

// Lost is ReceivedNs of a packet that was not received.
const Lost = -1

// Interruption is a time in which a CPU did not work on packets.
type Interruption struct {
	BeginNs, EndNs int64
	// WithinNs is how long after BeginNs it may have begun at most: a thread that lists its long turns knows when one began,
	// and what one takes usually.
	WithinNs int64
	// ByPacket tells that it is seen from when a packet had to wait: what a thread that sleeps, or a softirq, is held up by
	// may have begun before.
	ByPacket bool
}

// CPU is what is known of the interruptions of a CPU on the packets' path, from the thread that works there.
type CPU struct {
	// Name is what a refusal calls it: "CPU 3", "the receiver".
	Name string
	// Interruptions are all of ThresholdNs or more, and some shorter ones: in a turn without packets a thread can tell them
	// from its own work, and in others not.
	Interruptions []Interruption
	ThresholdNs   int64
	// Short are turns that may be interruptions, but are too short to be listed.
	Short []Short
	// Missing is how many interruptions were not listed, as the list was full.
	Missing uint64
}

// Short are interruptions of less than EachBelowNs, which take TotalNs together.
type Short struct{ EachBelowNs, TotalNs int64 }

// Trial is what a distribution is made of.
type Trial struct {
	LengthNs int64
	// Packets are in the order in which they were due.
	Packets iter.Seq[Packet]
	// CPUs are all on the path: the distribution is as if those that are not in it were never interrupted.
	CPUs []CPU
}
