package attribution

import (
	"cmp"
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

// span is a stretch of time that something is blamed for; nobody where the kind is empty.
type span struct {
	begin, end int64
	cause      result.Cause
}

func (s span) length() int64 { return s.end - s.begin }

func (s span) named() bool { return s.cause.Kind != "" }

// innermost cuts the time from begin to end into spans, each of what was innermost then:
// of nested events the one that began last. Where there was none the span has the cause
// otherwise.
func innermost(events []noted, begin, end int64, otherwise result.Cause) []span {
	var spans []span
	var open []noted
	at := begin
	emit := func(until int64) {
		until = min(until, end)
		if until <= at {
			return
		}
		cause := otherwise
		if n := len(open); n > 0 {
			cause = open[n-1].cause
		}
		spans = appendSpan(spans, span{at, until, cause})
		at = until
	}
	closeUntil := func(t int64) {
		for len(open) > 0 {
			top := open[len(open)-1]
			if top.EndNs > t {
				return
			}
			emit(top.EndNs)
			open = open[:len(open)-1]
		}
	}
	for _, e := range events {
		if e.EndNs <= begin {
			continue
		}
		if e.BeginNs >= end {
			break
		}
		closeUntil(e.BeginNs)
		emit(e.BeginNs)
		open = append(open, e)
	}
	closeUntil(end)
	open = slices.DeleteFunc(open, func(e noted) bool { return e.EndNs <= at })
	emit(end)
	return spans
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

// shares are the times of each cause in spans; those of nobody are under the zero Cause.
func shares(spans []span) map[result.Cause]int64 {
	sums := make(map[result.Cause]int64)
	for _, s := range spans {
		sums[s.cause] += s.length()
	}
	return sums
}
