package duet

import (
	"math"
	"math/rand/v2"

	"nines.dev/nines/analysis/undisturbed"
)

// host is a shared host of two CPUs, as it changes: its speed drifts, stalls take its CPU away, and both have phases.
type host struct {
	r       *rand.Rand
	speed   float64 // the logarithm of how much slower it is than usual
	busy    bool    // a phase with many stalls
	nextNs  float64 // when speed and phase change
	stall   undisturbed.Interruption
	readyNs float64 // when the last packet has gone
}

const us, ms = 1e3, 1e6

func newHost(seed, number uint64) *host {
	h := &host{r: rand.New(rand.NewPCG(seed, number))}
	h.stall = h.stallAfter(0)
	return h
}

// change moves the speed by some per cent each 10 ms, and begins or ends a phase each second or so.
func (h *host) change(ns float64) {
	for ; h.nextNs < ns; h.nextNs += 10 * ms {
		h.speed = 0.98*h.speed + 0.04*h.r.NormFloat64()
		if h.r.Float64() < 0.01 {
			h.busy = !h.busy
		}
	}
}

// stallAfter is the next: 30 a second of 0.2 ms, in busy phases 300, and each hundredth is of 2 ms.
func (h *host) stallAfter(ns float64) undisturbed.Interruption {
	apart := 33 * ms
	if h.busy {
		apart = 3.3 * ms
	}
	begin := ns + apart*h.r.ExpFloat64()
	mean := 0.2 * ms
	if h.r.Float64() < 0.01 {
		mean = 2 * ms
	}
	return undisturbed.Interruption{BeginNs: int64(begin), EndNs: int64(begin + mean*h.r.ExpFloat64())}
}

// witness lists stalls from 10 µs on.
func (h *host) witness(s undisturbed.Interruption) []undisturbed.CPU {
	cpu := undisturbed.CPU{Name: "the CPU"}
	if length := s.EndNs - s.BeginNs; length > 10*us {
		cpu.Interruptions = []undisturbed.Interruption{s}
	} else {
		cpu.Short = []undisturbed.Short{{EachBelowNs: length + 1, TotalNs: length}}
	}
	return []undisturbed.CPU{cpu}
}

// effect is what differs in B: a share of the median of 6 µs, and a time.
type effect struct{ share, ns float64 }

const medianNs = 6 * us

// packet takes one of a side through the host. It is slower than others now and then by itself.
func (h *host) packet(side Side, due float64, e effect) float64 {
	latency := medianNs * math.Exp(h.speed+0.2*h.r.NormFloat64())
	if h.r.Float64() < 0.02 {
		latency += 5 * us * h.r.ExpFloat64()
	}
	if side == B {
		latency += e.share*medianNs + e.ns
	}
	begin := max(due, h.readyNs)
	const pass = 1 * us // what the thread takes for a packet
	for float64(h.stall.EndNs) <= begin {
		h.stall = h.stallAfter(float64(h.stall.EndNs))
	}
	received := begin + latency
	if stall := h.stall; float64(stall.BeginNs) < received {
		received += float64(stall.EndNs) - max(float64(stall.BeginNs), begin)
	}
	h.readyNs = received - latency + pass
	return received
}

// play runs a trial at a rate of packets until it is over, and returns the last look.
func play(o Options, seed, number uint64, perSecond float64, e effect) Look {
	t := NewTrial(o)
	cpu := newHost(seed, number)
	var listed undisturbed.Interruption
	looks := o.Looks()
	random := rand.New(rand.NewPCG(seed, number))
	for pair := 0.0; ; pair++ {
		due := pair * 2e9 / perSecond
		if due >= float64(looks[0]) {
			if look := t.Look(looks[0]); look.Over {
				return look
			}
			looks = looks[1:]
		}
		cpu.change(due)
		first := Side(random.IntN(2))
		for _, side := range []Side{first, 1 - first} {
			received := cpu.packet(side, due, e)
			if cpu.stall != listed {
				listed = cpu.stall
				t.Interrupted(cpu.witness(cpu.stall))
			}
			t.Add(side, undisturbed.Packet{DueNs: int64(due), ReceivedNs: int64(received)})
			due += 4 * us
		}
	}
}
