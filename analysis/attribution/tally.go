package attribution

import "nines.dev/nines/result"

// amount is what a cause took: its time, and in how many stretches.
type amount struct {
	ns, times int64
}

// tally is what each cause took of a part of a packet's latency; nobody's time is under
// the zero Cause. It has no order: a stall of some hundred milliseconds holds a hundred
// thousand spans for each of the packets in it, and some dozens of causes.
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

// nobody is how much of the time nobody is blamed for.
func (t tally) nobody() int64 { return t[result.Cause{}].ns }

// assign blames a cause for so much of what nobody is blamed for.
func (t tally) assign(cause result.Cause, ns int64) {
	if ns = min(ns, t.nobody()); ns <= 0 {
		return
	}
	t.add(result.Cause{}, -ns, 0)
	t.add(cause, ns, 1)
}
