package trace

import (
	"cmp"
	"slices"
)

// merge sorts spans and joins adjacent ones.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	merged := spans[:0]
	for _, s := range spans {
		if n := len(merged); n > 0 && s.begin <= merged[n-1].end {
			merged[n-1].end = max(merged[n-1].end, s.end)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// without returns the parts of the wanted spans outside the others; both must be merged.
func without(wanted, others []span) []span {
	var rest []span
	for _, w := range wanted {
		for _, o := range others {
			if o.end < w.begin || o.begin > w.end {
				continue
			}
			if o.begin > w.begin {
				rest = append(rest, span{w.begin, o.begin})
			}
			w.begin = o.end
			if w.begin >= w.end {
				break
			}
		}
		if w.begin < w.end {
			rest = append(rest, w)
		}
	}
	return rest
}

// within returns the parts of a span inside the wanted ones, which must be merged.
func (s span) within(wanted []span) []span {
	var parts []span
	for _, w := range wanted {
		if part := (span{max(s.begin, w.begin), min(s.end, w.end)}); part.begin < part.end {
			parts = append(parts, part)
		}
	}
	return parts
}
