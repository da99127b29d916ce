package attribution

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"nines.dev/nines/result"
)

// noted is an event with the cause it counts as.
type noted struct {
	result.Event
	cause result.Cause
}

// intervals are events ordered by their begin.
type intervals struct {
	list []noted
	// reach holds, for each event, the latest end among all events up to it. It finds events that
	// began long ago and are still running.
	reach []int64
}

func (l *intervals) sort() {
	slices.SortStableFunc(l.list, func(a, b noted) int {
		// Of two events that begin at the same time, the longer one encloses the other.
		return cmp.Or(cmp.Compare(a.BeginNs, b.BeginNs), cmp.Compare(b.EndNs, a.EndNs))
	})
	l.reach = make([]int64, len(l.list))
	var latest int64
	for i, e := range l.list {
		latest = max(latest, e.EndNs)
		l.reach[i] = latest
	}
}

// within returns the events that overlap a time range, in order. It is valid until the next sort.
func (l *intervals) within(begin, end int64) []noted {
	first := sort.Search(len(l.list), func(i int) bool { return l.reach[i] > begin })
	last := sort.Search(len(l.list), func(i int) bool { return l.list[i].BeginNs >= end })
	return l.list[min(first, last):last]
}

// begun returns the events that begin in a time range, in order. That is fewer than within returns
// where one event that began long ago encloses many.
func (l *intervals) begun(from, to int64) []noted {
	first := sort.Search(len(l.list), func(i int) bool { return l.list[i].BeginNs >= from })
	last := sort.Search(len(l.list), func(i int) bool { return l.list[i].BeginNs >= to })
	return l.list[first:max(first, last)]
}

// span is a stretch of time blamed on a cause; an empty kind means no cause.
type span struct {
	begin, end int64
	cause      result.Cause
}

func (s span) length() int64 { return s.end - s.begin }

func (s span) named() bool { return s.cause.Kind != "" }

// innermost cuts nested events into spans that do not overlap, each blamed on the innermost event
// at that time: the one that began last. There is no span where there was no event.
func innermost(events []noted) []span {
	var spans []span
	var open []noted
	var at int64
	// until closes the open events that end by a time.
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

// interrupted returns what interrupted a CPU from begin to end, with otherwise in between.
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

// appendSpan appends a span, or extends the last one if both have the same cause.
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

// overlay fills the parts of first that have no cause from second. Both cover the same time range.
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
