package undisturbed

import "math/rand/v2"

// independence compares what was on the path just before an interruption with what was there at random moments. If the
// traffic causes the interruptions, as a burst does that fills a softirq's budget, the two differ: then the packets
// that interruptions leave alone are others than a quiet host would have.
type independence struct {
	sieve *Sieve
	// moments are random, in rising order. They and the begins of interruptions count if no stretch was open for as
	// long as looks back, or what that stretch did to the traffic would count.
	moments   []int64
	stretches int
	clean     [2]int
	states    [3]twoSamples

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

// mostMoments bounds the time of the test: they are as many as tell the states at a random moment well.
const mostMoments = 400_000

func newIndependence(sieve *Sieve, interruptions int, lengthNs int64) *independence {
	t := &independence{sieve: sieve, states: [3]twoSamples{{}, {}, {}}}
	sieve.onBegin = func(at, free int64) {
		t.stretches++
		t.look(atInterruption, at, free)
	}
	moments := min(20_000+40*interruptions, mostMoments)
	random := rand.New(rand.NewPCG(uint64(lengthNs), uint64(interruptions)))
	t.moments = make([]int64, moments)
	for i := range t.moments { // one in each part of the trial
		t.moments[i] = int64((float64(i) + random.Float64()) * float64(lengthNs) / float64(moments))
	}
	return t
}

// before sees a packet that the sieve has not seen yet.
func (t *independence) before(p Packet) {
	for len(t.moments) > 0 && t.moments[0] <= p.DueNs {
		moment := t.moments[0]
		t.moments = t.moments[1:]
		t.sieve.reach(moment)
		t.pass(moment)
		if !t.sieve.open {
			t.look(atRandom, moment, t.sieve.freeNs)
		}
	}
	t.sieve.reach(p.DueNs)
	t.recent = append(t.recent, p.DueNs)
	if p.ReceivedNs > p.DueNs {
		t.inFlight.push(p.ReceivedNs)
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

// few reports whether the interruptions are too few to tell. Then they are taken as independent.
func (t *independence) few() bool { return t.stretches < fewestToTell }

// close reports whether too few of them come long enough after the one before.
func (t *independence) close() bool {
	return min(t.clean[atInterruption], t.clean[atRandom]) < fewestToTell
}

// differ is the p-value that interruptions do not depend on the traffic: the smallest of three tests, times three
// (Bonferroni).
func (t *independence) differ() float64 {
	p := 1.0
	for _, state := range t.states {
		p = min(p, 3*state.differ())
	}
	return p
}
