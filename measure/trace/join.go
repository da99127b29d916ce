package trace

import (
	"cmp"
	"slices"

	"nines.dev/nines/result"
)

// joined returns the pieces of each CPU, with those of adjacent stretches joined: what began in one
// may end in the next.
func (k *keeper) joined() []piece {
	pieces := slices.Clone(k.pieces)
	slices.SortFunc(pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.cpu, b.cpu), cmp.Compare(a.stretch.begin, b.stretch.begin))
	})
	var joined []piece
	for first := 0; first < len(pieces); {
		end, next := pieces[first].stretch.end, first+1
		for next < len(pieces) && pieces[next].cpu == pieces[first].cpu && pieces[next].stretch.begin <= end && pieces[next].known == 0 {
			end = max(end, pieces[next].stretch.end)
			next++
		}
		joined = append(joined, join(pieces[first:next]))
		first = next
	}
	return joined
}

// join joins adjacent pieces of a CPU, in order. Several may hold the same record. It sorts all at
// once: an overload leaves one piece per look.
func join(pieces []piece) piece {
	whole := pieces[0]
	if len(pieces) == 1 {
		return whole
	}
	whole.records, whole.begun = slices.Clone(whole.records), slices.Clone(whole.begun)
	for _, p := range pieces[1:] {
		whole.stretch.end = max(whole.stretch.end, p.stretch.end)
		whole.lost += p.lost
		whole.begun = append(whole.begun, p.begun...)
		whole.records = append(whole.records, p.records...)
	}
	slices.SortFunc(whole.records, func(a, b record) int { return cmp.Compare(a.place, b.place) })
	whole.records = slices.CompactFunc(whole.records, func(a, b record) bool { return a.place == b.place })
	return whole
}

// sortEvents orders events by begin; on one CPU an enclosed event comes after its enclosing one.
func sortEvents(events []result.Event) {
	slices.SortStableFunc(events, func(a, b result.Event) int {
		return cmp.Or(cmp.Compare(a.BeginNs, b.BeginNs), cmp.Compare(a.CPU, b.CPU), cmp.Compare(b.EndNs, a.EndNs))
	})
}
