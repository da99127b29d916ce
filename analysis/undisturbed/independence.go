package undisturbed

import (
	"math"
	"math/rand/v2"
)

// independence compares what was on the path just before an interruption with what was there the same times later. If the
// traffic causes the interruptions, as a burst does that fills a softirq's budget, the two differ: then the packets
// that interruptions leave alone are others than a quiet host would have.
type independence struct {
	stretches *stretches
	random    *rand.Rand
	begun     int // stretches with an interruption that is always listed
	byPacket  triggers
	moments   moments
	states    [3]shifted

	inFlight timesHeap // when the packets on the path were received
	recent   []int64   // when the packets of the last 300 µs were due
	soon     int       // the first of them that is of the last 50 µs
}

const (
	shortNs, longNs = 50_000, 300_000
	// A moment counts if no stretch was open for as long as looks back, or what that stretch did to the traffic would count.
	cleanNs = longNs + 50_000
)

func newIndependence(s *stretches) *independence {
	random := rand.New(rand.NewPCG(1, 1))
	t := &independence{stretches: s, random: random, moments: newMoments(random), states: [3]shifted{{}, {}, {}},
		byPacket: triggers{states: [2]twoSamples{{}, {}}}}
	s.onBegin = func(first listed, free int64) {
		switch {
		case !first.always: // those that are listed are more often of turns without packets
			return
		case first.ByPacket:
			t.byPacket.begins(free)
		default:
			t.moments.add(begin{first.beganNs + t.random.Int64N(first.WithinNs+1), free})
		}
		t.begun++
	}
	return t
}

// before sees a packet that the stretches have not seen yet.
func (t *independence) before(p Packet) {
	for t.moments.soonNs < p.DueNs {
		at := t.moments.soonNs
		t.stretches.reach(at)
		if t.moments.soonNs == at { // else a stretch has begun before
			t.look(at)
		}
	}
	t.stretches.reach(p.DueNs)
	for t.moments.soonNs < p.DueNs {
		t.look(t.moments.soonNs)
	}
	if !t.stretches.open && p.DueNs >= t.stretches.latestNs {
		t.pass(p.DueNs)
		t.byPacket.starts(p.DueNs, t.stretches.freeNs, len(t.recent)-t.soon, len(t.recent))
	}
	t.recent = append(t.recent, p.DueNs)
	if p.ReceivedNs > p.DueNs {
		t.inFlight.push(p.ReceivedNs)
	}
}

// look counts the states at the next moment: packets in flight, and due a short and a long time before.
func (t *independence) look(at int64) {
	set, of := t.moments.take()
	free := of.freeNs
	if set > 0 {
		if t.stretches.open {
			return
		}
		free = t.stretches.freeNs
	}
	if at-free <= cleanNs {
		return
	}
	t.pass(at)
	t.states[0].add(set, len(t.inFlight))
	t.states[1].add(set, len(t.recent)-t.soon)
	t.states[2].add(set, len(t.recent))
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
	_, _, tell := t.states[0].differ()
	return !tell && !t.byPacket.tell()
}

// matters is how far from a half it must be how often a state before an interruption is larger than another. Of ten
// interruptions one that the traffic causes makes about that, and less does not move percentiles by much; but many
// interruptions show even that.
const matters = 0.05

// differ is the p-value that interruptions do not depend on the traffic: the smallest of all tests, times their number
// (Bonferroni). A dependence that does not matter does not count.
func (t *independence) differ() float64 {
	least, tests := 1.0, 0.0
	test := func(p, larger float64) {
		if tests++; math.Abs(larger-0.5) > matters {
			least = min(least, p)
		}
	}
	for _, state := range t.states {
		if p, larger, tell := state.differ(); tell {
			test(p, larger)
		}
	}
	if t.byPacket.tell() {
		for _, state := range t.byPacket.states {
			test(state.differ())
		}
	}
	return min(tests*least, 1)
}
