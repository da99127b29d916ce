package trace

import (
	"cmp"
	"slices"

	"nines.dev/nines/result"
)

// joined are the pieces of each CPU, those of touching stretches made one: what began in
// one of them may end in the next.
func (k *keeper) joined() []piece {
	pieces := slices.Clone(k.pieces)
	slices.SortFunc(pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.cpu, b.cpu), cmp.Compare(a.stretch.begin, b.stretch.begin))
	})
	var joined []piece
	for _, p := range pieces {
		if n := len(joined); n > 0 && joined[n-1].cpu == p.cpu && p.stretch.begin <= joined[n-1].stretch.end {
			joined[n-1] = joined[n-1].with(p)
			continue
		}
		joined = append(joined, p)
	}
	return joined
}

// with is the piece with a later one of the same CPU. Both may have a record.
func (p piece) with(next piece) piece {
	p.stretch.end = max(p.stretch.end, next.stretch.end)
	p.lost += next.lost
	p.records = slices.Concat(p.records, next.records)
	slices.SortFunc(p.records, func(a, b record) int { return cmp.Compare(a.place, b.place) })
	p.records = slices.CompactFunc(p.records, func(a, b record) bool { return a.place == b.place })
	return p
}

// sortEvents puts events in the order of begin, on one CPU what lies in another after it.
func sortEvents(events []result.Event) {
	slices.SortStableFunc(events, func(a, b result.Event) int {
		return cmp.Or(cmp.Compare(a.BeginNs, b.BeginNs), cmp.Compare(a.CPU, b.CPU), cmp.Compare(b.EndNs, a.EndNs))
	})
}
