package undisturbed

import (
	"math"
	"slices"
)

// Sieve sees the packets of a trial, each once, and tells which of them interruptions touched.
type Sieve struct {
	stretches stretches
	test      *independence
	tally     Tally
	short     []Short
	full      []CPU // whose lists were
}

// Tally counts packets.
type Tally struct {
	// Kept were received and not touched, Touched received and touched.
	Kept, Touched uint64
	// KeptLost were lost, but not due in an interruption.
	KeptLost, TouchedLost uint64
}

// Share is the share of the packets that interruptions left alone.
func (t Tally) Share() float64 {
	return float64(t.Kept+t.KeptLost) / float64(max(t.all(), 1))
}

func (t Tally) all() uint64 { return t.Kept + t.KeptLost + t.Touched + t.TouchedLost }

// NewSieve returns one that knows no interruptions.
func NewSieve() *Sieve {
	s := &Sieve{}
	s.test = newIndependence(&s.stretches)
	return s
}

// Add takes what came since it was last called: interruptions that end after all packets so far were due.
func (s *Sieve) Add(cpus []CPU) {
	for _, cpu := range cpus {
		s.stretches.add(cpu)
		s.short = append(s.short, cpu.Short...)
		if cpu.Missing > 0 {
			s.full = append(s.full, cpu)
		}
	}
}

// Touched reports whether an interruption touched the next packet in the order in which they were due.
func (s *Sieve) Touched(p Packet) bool {
	s.test.before(p)
	touched := s.stretches.touch(p)
	switch lost := p.ReceivedNs < 0; {
	case lost && touched:
		s.tally.TouchedLost++
	case lost:
		s.tally.KeptLost++
	case touched:
		s.tally.Touched++
	default:
		s.tally.Kept++
	}
	return touched
}

// Sifted is what a sieve tells of the packets up to a time. More can follow.
type Sifted struct {
	Tally
	// Refused says why those that were not touched tell nothing; "" if they do.
	Refused string
	// Assumed is what is taken for granted of the interruptions: that the traffic did not cause them, where that cannot be
	// tested.
	Assumed []string

	exposure exposure
	short    []Short
	lengthNs int64
}

// Sifted is of the packets up to now.
func (s *Sieve) Sifted(nowNs int64) Sifted {
	sifted := Sifted{Tally: s.tally, Assumed: s.test.assumed(), exposure: s.stretches.exposure(nowNs), short: slices.Clip(s.short), lengthNs: nowNs}
	sifted.Refused = s.refuse()
	return sifted
}

// Weight is how many packets one stands for that was not touched, by its latency (Horvitz and Thompson 1952).
func (s *Sifted) Weight(latencyNs float64) float64 {
	return 1 / max(s.exposure.escapes(latencyNs), s.exposure.escapes(0)/mostWeight, math.SmallestNonzeroFloat64)
}

// mostWeight bounds the weight of a slow packet over that of a fast one, so that no single packet decides (Cole and
// Hernán 2008, "Constructing inverse probability weights"). Percentiles at which it counts stay open.
const mostWeight = 10
