package attribution

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"nines.dev/nines/result"
)

// noted is an event with what it is blamed as.
type noted struct {
	result.Event
	cause result.Cause
}

// intervals are events in the order of their beginning.
type intervals struct {
	list []noted
	// reach is for each the latest end up to it, so that those that began long ago and
	// last until now are found, too.
	reach []int64
}

func (l *intervals) sort() {
	slices.SortStableFunc(l.list, func(a, b noted) int {
		// Of two that begin at once the longer one is around the other.
		return cmp.Or(cmp.Compare(a.BeginNs, b.BeginNs), cmp.Compare(b.EndNs, a.EndNs))
	})
	l.reach = make([]int64, len(l.list))
	var latest int64
	for i, e := range l.list {
		latest = max(latest, e.EndNs)
		l.reach[i] = latest
	}
}

// within are those that have a part between two times, in order. It is valid until the
// next sort.
func (l *intervals) within(begin, end int64) []noted {
	first := sort.Search(len(l.list), func(i int) bool { return l.reach[i] > begin })
	last := sort.Search(len(l.list), func(i int) bool { return l.list[i].BeginNs >= end })
	return l.list[min(first, last):last]
}

// begun are those that begin from one time to another, in order: fewer than within has,
// where one that began long ago is around many.
func (l *intervals) begun(from, to int64) []noted {
	first := sort.Search(len(l.list), func(i int) bool { return l.list[i].BeginNs >= from })
	last := sort.Search(len(l.list), func(i int) bool { return l.list[i].BeginNs >= to })
	return l.list[first:max(first, last)]
}

// span is a stretch of time that something is blamed for; nobody where the kind is empty.
type span struct {
	begin, end int64
	cause      result.Cause
}

func (s span) length() int64 { return s.end - s.begin }

func (s span) named() bool { return s.cause.Kind != "" }

// innermost cuts nested events into spans that do not overlap, each of what was innermost
// then: the one that began last. Where nothing was there is no span.
func innermost(events []noted) []span {
	var spans []span
	var open []noted
	var at int64
	// until ends what is open up to a time.
	until := func(t int64) {
		for len(open) > 0 && at < t {
			top := open[len(open)-1]
			end := min(top.EndNs, t)
			if end > at {
				spans = appendSpan(spans, span{at, end, top.cause})
				at = end
			}
			if top.EndNs > t {
				return
			}
			open = open[:len(open)-1]
		}
	}
	for _, e := range events {
		until(e.BeginNs)
		at = max(at, e.BeginNs)
		open = append(open, e)
	}
	until(math.MaxInt64)
	return spans
}

// interrupted is what interrupted a CPU from begin to end; otherwise where nothing did.
func (c *cpu) interrupted(begin, end int64, otherwise result.Cause) []span {
	var spans []span
	at := begin
	first := sort.Search(len(c.interruptions), func(i int) bool { return c.interruptions[i].end > begin })
	for _, s := range c.interruptions[first:] {
		if s.begin >= end {
			break
		}
		spans = appendSpan(spans, span{at, s.begin, otherwise})
		spans = appendSpan(spans, span{max(s.begin, at), min(s.end, end), s.cause})
		at = min(s.end, end)
	}
	return appendSpan(spans, span{at, end, otherwise})
}

// appendSpan joins a span to the last one if both are one.
func appendSpan(spans []span, s span) []span {
	if s.end <= s.begin {
		return spans
	}
	if n := len(spans); n > 0 && spans[n-1].end == s.begin && spans[n-1].cause == s.cause {
		spans[n-1].end = s.end
		return spans
	}
	return append(spans, s)
}

// overlay fills the times of the first for which nobody is blamed by the second's; both
// cover the same stretch.
func overlay(first, second []span) []span {
	var spans []span
	j := 0
	for _, s := range first {
		if s.named() {
			spans = appendSpan(spans, s)
			continue
		}
		for at := s.begin; at < s.end; {
			for j < len(second) && second[j].end <= at {
				j++
			}
			if j == len(second) || second[j].begin >= s.end {
				spans = appendSpan(spans, span{at, s.end, result.Cause{}})
				break
			}
			if second[j].begin > at {
				spans = appendSpan(spans, span{at, second[j].begin, result.Cause{}})
				at = second[j].begin
			}
			until := min(s.end, second[j].end)
			spans = appendSpan(spans, span{at, until, second[j].cause})
			at = until
		}
	}
	return spans
}
