package trace

import (
	"container/heap"
	"maps"
	"slices"
)

// keeper decides for which packets the events are kept, and holds them. It is pure: only its inputs
// decide.
type keeper struct {
	// slowest are the slowest so far, least slow first; at most most of them.
	slowest slowest
	most    int
	// ordinary are the randomly picked packets by place.
	ordinary map[int]Packet
	places   int
	// pieces are what the CPUs did around them, records the total number of records.
	pieces  []piece
	records int
	// limit is the number of records to hold; pruned is how many there were after the last prune.
	limit, pruned int
	// evicted is how many of the slowest were evicted for lack of room, and floor the highest
	// latency among those: packets up to it are no longer accepted.
	evicted int
	floor   int64
	// evictedOrdinary is how many of the ordinary packets were evicted.
	evictedOrdinary int
}

// recordsLimit is 20 MB of records in memory, and more events than anyone reads.
const recordsLimit = 1 << 19

func newKeeper(most, places int) *keeper {
	return &keeper{most: most, places: places, ordinary: make(map[int]Packet), limit: recordsLimit}
}

// slowest is a heap with the least slow on top.
type slowest []Packet

func (s slowest) Len() int           { return len(s) }
func (s slowest) Less(i, j int) bool { return s[i].LatencyNs < s[j].LatencyNs }
func (s slowest) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }

// Push and Pop implement heap.Interface.
func (s *slowest) Push(x any) { *s = append(*s, x.(Packet)) }

// Pop removes the last packet.
func (s *slowest) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

// offer adds a packet, in place of another if there is no room; false if it is not wanted.
func (k *keeper) offer(p Packet) bool {
	if p.Ordinary {
		if p.Place < 0 || p.Place >= k.places {
			return false
		}
		k.ordinary[p.Place] = p
		return true
	}
	switch {
	case k.most == 0 || p.LatencyNs <= k.threshold():
		return false
	case len(k.slowest) == k.most:
		k.slowest[0] = p
		heap.Fix(&k.slowest, 0)
	default:
		heap.Push(&k.slowest, p)
	}
	return true
}

// keeps reports whether an accepted packet is still kept.
func (k *keeper) keeps(p Packet) bool {
	if p.Ordinary {
		return k.ordinary[p.Place] == p
	}
	return p.LatencyNs > k.floor && (len(k.slowest) < k.most || p.LatencyNs >= k.slowest[0].LatencyNs)
}

// threshold is the latency above which packets are wanted.
func (k *keeper) threshold() int64 {
	if len(k.slowest) < k.most || k.most == 0 {
		return k.floor
	}
	return max(k.slowest[0].LatencyNs, k.floor)
}

func around(p Packet) span { return span{p.BeginNs - MarginNs, p.EndNs + MarginNs} }

// wanted returns the stretches of all kept packets.
func (k *keeper) wanted() []span {
	spans := make([]span, 0, len(k.slowest)+len(k.ordinary))
	for _, p := range k.slowest {
		spans = append(spans, around(p))
	}
	for _, p := range k.ordinary {
		spans = append(spans, around(p))
	}
	return merge(spans)
}

// held returns the stretches that have pieces.
func (k *keeper) held() []span {
	spans := make([]span, 0, len(k.pieces))
	for _, p := range k.pieces {
		// Each CPU has one piece per stretch; they are consecutive.
		if last := len(spans) - 1; last < 0 || spans[last] != p.stretch {
			spans = append(spans, p.stretch)
		}
	}
	return merge(spans)
}

// add holds pieces, and evicts others if there are too many.
func (k *keeper) add(pieces ...piece) {
	for _, p := range pieces {
		k.pieces = append(k.pieces, p)
		k.records += len(p.records)
	}
	if k.records > k.limit || k.records > 2*k.pruned+k.limit/16 {
		k.prune()
	}
	for k.records > k.limit && len(k.slowest)+len(k.ordinary) > 0 {
		k.evict()
		k.prune()
	}
}

// evict drops some packets: alternately the least slow of the slowest and the last of the ordinary
// ones, so that some remain for comparison.
func (k *keeper) evict() {
	if len(k.slowest) >= len(k.ordinary) {
		for range 1 + len(k.slowest)/16 {
			k.floor = max(k.floor, heap.Pop(&k.slowest).(Packet).LatencyNs)
			k.evicted++
		}
		return
	}
	for last, n := 1+slices.Max(slices.Collect(maps.Keys(k.ordinary))), 1+len(k.ordinary)/16; n > 0; {
		last--
		if _, taken := k.ordinary[last]; taken {
			delete(k.ordinary, last)
			k.evictedOrdinary++
			n--
		}
		k.places = last
	}
}

// prune drops what no packet needs any longer.
func (k *keeper) prune() {
	wanted := k.wanted()
	var kept []piece
	k.records = 0
	for _, p := range k.pieces {
		for _, part := range p.stretch.within(wanted) {
			cut := p.cut(part)
			kept = append(kept, cut)
			k.records += len(cut.records)
		}
	}
	k.pieces, k.pruned = kept, k.records
}

// cut is the part of a piece that describes a stretch within it.
func (p piece) cut(s span) piece {
	if s == p.stretch {
		return p
	}
	cut := piece{cpu: p.cpu, stretch: s, running: p.running, known: p.known, begun: p.begun}
	first, last := 0, len(p.records)
	for i, r := range p.records {
		if r.ns < s.begin-slackNs {
			first = i + 1
			if r.kind == kindSwitch {
				cut.running = int64(uint32(r.b))
			}
		}
		if r.ns <= s.end+slackNs {
			last = i + 1
		}
	}
	first = lead(p.records, min(first, last))
	last = min(len(p.records), last+context)
	// A copy, so that the rest can be freed.
	cut.records = append([]record(nil), p.records[first:last]...)
	for _, r := range p.records[last:] {
		if r.tellsOf(s) {
			cut.records = append(cut.records, r)
		}
	}
	from, to := p.stretch, s
	if p.known > 0 { // they were in the hole
		from, to = p.hole(), cut.hole()
	}
	if whole := from.end - from.begin; whole > 0 {
		cut.lost = uint64(float64(p.lost) * float64(to.end-to.begin) / float64(whole))
	}
	return cut
}
