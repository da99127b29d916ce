package undisturbed

import (
	"math"
	"math/rand/v2"
)

// independence compares what was on the path just before an interruption with what was there at random moments. If the
// traffic causes the interruptions, as a burst does that fills a softirq's budget, the two differ: then the packets
// that interruptions leave alone are others than a quiet host would have.
type independence struct {
	stretches *stretches
	random    *rand.Rand
	moment    int64 // the next random one
	begun     int   // stretches with an interruption that is always listed
	byPacket  triggers
	pending   []begin // looks at those, in their order
	// A moment and the begin of a stretch count if none was open for as long as looks back, or what that stretch did to
	// the traffic would count.
	clean  [2]int
	states [3]twoSamples

	inFlight timesHeap // when the packets on the path were received
	recent   []int64   // when the packets of the last 300 µs were due
	soon     int       // the first of them that is of the last 50 µs
}

// The samples of each state.
const (
	atInterruption = iota
	atRandom
)

const (
	shortNs, longNs = 50_000, 300_000
	cleanNs         = longNs + 50_000
)

// In each part of this length is one random moment.
const partNs = 100_000

func newIndependence(s *stretches) *independence {
	t := &independence{stretches: s, random: rand.New(rand.NewPCG(1, 1)), states: [3]twoSamples{{}, {}, {}}, byPacket: triggers{states: [2]twoSamples{{}, {}}}}
	s.onBegin = func(first listed, free int64) {
		switch {
		case !first.always: // those that are listed are more often of turns without packets
			return
		case first.ByPacket:
			t.byPacket.begins(free)
		default:
			t.pending = append(t.pending, begin{first.beganNs + t.random.Int64N(first.WithinNs+1), free})
		}
		t.begun++
	}
	t.moment = t.random.Int64N(partNs)
	return t
}

// before sees a packet that the stretches have not seen yet.
func (t *independence) before(p Packet) {
	for t.moment <= p.DueNs {
		t.stretches.reach(t.moment)
		t.lookBefore(t.moment)
		t.pass(t.moment)
		if !t.stretches.open {
			t.look(atRandom, t.moment, t.stretches.freeNs)
		}
		t.moment += partNs - t.moment%partNs + t.random.Int64N(partNs)
	}
	t.stretches.reach(p.DueNs)
	t.lookBefore(p.DueNs)
	if !t.stretches.open && p.DueNs >= t.stretches.latestNs {
		t.pass(p.DueNs)
		t.byPacket.starts(p.DueNs, t.stretches.freeNs, len(t.recent)-t.soon, len(t.recent))
	}
	t.recent = append(t.recent, p.DueNs)
	if p.ReceivedNs > p.DueNs {
		t.inFlight.push(p.ReceivedNs)
	}
}

// begin is a time at which an interruption may have begun, and since when no stretch was open before it.
type begin struct{ atNs, freeNs int64 }

// lookBefore looks at the interruptions that began before a time.
func (t *independence) lookBefore(ns int64) {
	for len(t.pending) > 0 && t.pending[0].atNs < ns {
		t.look(atInterruption, t.pending[0].atNs, t.pending[0].freeNs)
		t.pending = t.pending[1:]
	}
}

// look counts the states at a time that is after all earlier ones: packets in flight, and due a short and a long time
// before.
func (t *independence) look(sample int, at, free int64) {
	if at-free <= cleanNs {
		return
	}
	t.pass(at)
	t.clean[sample]++
	t.states[0].add(sample, len(t.inFlight))
	t.states[1].add(sample, len(t.recent)-t.soon)
	t.states[2].add(sample, len(t.recent))
}

// pass forgets what is over at a time.
func (t *independence) pass(at int64) {
	for len(t.inFlight) > 0 && t.inFlight[0] <= at {
		t.inFlight.pop()
	}
	old := 0
	for old < len(t.recent) && t.recent[old] < at-longNs {
		old++
	}
	t.recent, t.soon = t.recent[old:], max(t.soon-old, 0)
	for t.soon < len(t.recent) && t.recent[t.soon] < at-shortNs {
		t.soon++
	}
}

// fewestToTell is how many states a sample needs.
const fewestToTell = 20

// few reports whether the interruptions are too few to tell.
func (t *independence) few() bool { return t.begun < fewestToTell }

// assumed says what is taken for granted, as it cannot be tested.
func (t *independence) assumed() []string {
	switch {
	case t.begun > 0 && t.few():
		return []string{"the traffic did not cause the interruptions, which are too few to tell"}
	case t.byPacket.begun > 0:
		return []string{"the traffic did not cause what softirqs and sleeping threads waited for, of which only the end is seen"}
	}
	return nil
}

// close reports whether too few of them come long enough after the one before.
func (t *independence) close() bool {
	return min(t.clean[atInterruption], t.clean[atRandom]) < fewestToTell && !t.byPacket.tell()
}

// matters is how far from a half it must be how often a state before an interruption is larger than another. Of ten
// interruptions one that the traffic causes makes about that, and less does not move percentiles by much; but many
// interruptions show even that.
const matters = 0.05

// differ is the p-value that interruptions do not depend on the traffic: the smallest of all tests, times their number
// (Bonferroni). A dependence that does not matter does not count.
func (t *independence) differ() float64 {
	var tests []twoSamples
	if min(t.clean[atInterruption], t.clean[atRandom]) >= fewestToTell {
		tests = append(tests, t.states[:]...)
	}
	if t.byPacket.tell() {
		tests = append(tests, t.byPacket.states[:]...)
	}
	p := 1.0
	for _, states := range tests {
		if one, larger := states.differ(); math.Abs(larger-0.5) > matters {
			p = min(p, float64(len(tests))*one)
		}
	}
	return p
}
