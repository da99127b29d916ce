package undisturbed

import (
	"math"
	"math/rand/v2"
	"slices"
)

// moments are when to look at the path: where an interruption may have begun, and the same times after each of some shifts.
// What repeats itself by its own clock, as a tick does, may keep step with traffic that is sent by a clock; all its shifted
// moments keep step as well, each set in another way, and so tell how much of a difference that makes.
type moments struct {
	begins []begin // those that not all shifts have reached, in their order
	first  int     // how many before them were forgotten
	next   [1 + shifts]int
	shift  [1 + shifts]int64 // the first is 0
	soonNs int64             // the earliest
	soon   int               // whose it is
}

// begin is a time at which an interruption may have begun, and since when no stretch was open before it.
type begin struct{ atNs, freeNs int64 }

const (
	// shifts is how many other sets of moments an interruption's are compared with.
	shifts = 24
	// A shift is long enough to leave a burst of packets behind, and short against a trial.
	leastShiftNs, mostShiftNs = 2_000_000, 102_000_000
)

const never = math.MaxInt64

func newMoments(random *rand.Rand) moments {
	m := moments{soonNs: never}
	const part = (mostShiftNs - leastShiftNs) / shifts
	for k := range int64(shifts) {
		m.shift[1+k] = leastShiftNs + k*part + random.Int64N(part)
	}
	return m
}

// add takes one that is not long before the latest.
func (m *moments) add(b begin) {
	at := len(m.begins)
	for at > m.next[0]-m.first && m.begins[at-1].atNs > b.atNs {
		at--
	}
	m.begins = slices.Insert(m.begins, at, b)
	m.choose()
}

// choose finds the earliest.
func (m *moments) choose() {
	m.soonNs = never
	for k, next := range m.next {
		if i := next - m.first; i < len(m.begins) && m.begins[i].atNs+m.shift[k] < m.soonNs {
			m.soonNs, m.soon = m.begins[i].atNs+m.shift[k], k
		}
	}
}

// take removes the earliest: which set it is of, and the begin it was made from.
func (m *moments) take() (set int, of begin) {
	set = m.soon
	of = m.begins[m.next[set]-m.first]
	m.next[set]++
	// The longest shift is the last to need a begin.
	if done := m.next[shifts] - m.first; done > len(m.begins)/2 && done > 1000 {
		m.begins = slices.Delete(m.begins, 0, done)
		m.first += done
	}
	m.choose()
	return set, of
}
