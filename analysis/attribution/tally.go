package attribution

import "nines.dev/nines/result"

// amount is the time that a cause took, and in how many stretches.
type amount struct {
	ns, times int64
}

// tally maps each cause to what it took of a part of a packet's latency; time without a cause is
// under the zero Cause. It keeps no order: a stall of some hundred milliseconds has a hundred
// thousand spans for each packet in it, but only some dozens of causes.
type tally map[result.Cause]amount

func tallyOf(spans []span) tally {
	took := make(tally)
	for _, s := range spans {
		took.add(s.cause, s.length(), 1)
	}
	return took
}

func (t tally) add(cause result.Cause, ns, times int64) {
	a := t[cause]
	t[cause] = amount{a.ns + ns, a.times + times}
}

// nobody returns the time that has no cause.
func (t tally) nobody() int64 { return t[result.Cause{}].ns }

// assign moves ns of the time without a cause to a cause.
func (t tally) assign(cause result.Cause, ns int64) {
	if ns = min(ns, t.nobody()); ns <= 0 {
		return
	}
	t.add(result.Cause{}, -ns, 0)
	t.add(cause, ns, 1)
}
