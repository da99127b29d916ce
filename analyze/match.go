package analyze

import (
	"context"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"nines.dev/nines/measure/metrics"
)

// usualWindow is what a pair of the published evaluation has at most between its two times, but for
// a nanosecond.
const usualWindow = 5 * time.Second

// Values that take the place of a receive time.
const (
	lost    = int64(metrics.Lost)      // was not received
	leftOut = int64(math.MinInt64) + 1 // has no key, or shares its key, or is early
	// early is lost as far as has been seen, but was found at a time before it was sent.
	early = int64(math.MinInt64) + 2
)

// again is another arrival of a packet of PRE.
type again struct {
	packet uint32 // place in PRE, in time order
	ns     int64
}

// matched says which packet of PRE arrived when.
type matched struct {
	// receivedNs is the first arrival of each packet of PRE, or lost, or leftOut.
	receivedNs column[int64]
	again      []again // in order
	counts     Counts
	// unknown are the packets of POST whose key no packet of PRE has, by their places.
	unknown []uint32
	// apart are the packets in both captures whose times do not fit, by flow.
	apart apart
	// untimed are the packets of PRE that are in POST, but without a time.
	untimed uint64
}

// Counts says what happened to the packets' keys.
type Counts struct {
	// Pairs is the number of pairs, including repeated arrivals, which Again counts.
	Pairs uint64 `json:"pairs"`
	Again uint64 `json:"again_packets"`
	// PreAmbiguous and PostAmbiguous are packets whose key several packets of PRE share, so they
	// belong to no pair.
	PreAmbiguous  uint64 `json:"pre_ambiguous_packets"`
	PostAmbiguous uint64 `json:"post_ambiguous_packets"`
	// PreCopies are packets of PRE that are copies of others, and left out.
	PreCopies uint64 `json:"pre_copies_packets"`
	// PreUnkeyed and PostUnkeyed are packets without a key, such as ARP with an id key.
	PreUnkeyed  uint64 `json:"pre_unkeyed_packets"`
	PostUnkeyed uint64 `json:"post_unkeyed_packets"`
	// PostUnknown are packets of POST whose key no packet of PRE has.
	PostUnknown uint64 `json:"post_unknown_packets"`
	// Early and Late are packets of POST whose key fits but whose time does not: before the time in
	// PRE, or later by the window or more.
	Early uint64 `json:"early_packets"`
	Late  uint64 `json:"late_packets"`
	// PreEarly are packets of PRE that are in POST only before their time in PRE. They are not lost.
	PreEarly uint64 `json:"pre_early_packets"`
	// Untimed are packets in both captures of which one has no time.
	Untimed uint64 `json:"untimed_packets"`
	// PreForeign and PostForeign are packets between hosts of which the other capture has none.
	PreForeign  uint64 `json:"pre_foreign_packets"`
	PostForeign uint64 `json:"post_foreign_packets"`
	// PreSegmented and PostSegmented are TCP packets that were cut or joined between the captures.
	PreSegmented  uint64 `json:"pre_segmented_packets"`
	PostSegmented uint64 `json:"post_segmented_packets"`
	// Outside are packets of PRE that were due while POST did not capture. OutsideOrLost are those
	// due before POST's first packet or after its last, where POST does not say when it captured.
	Outside       uint64 `json:"outside_packets"`
	OutsideOrLost uint64 `json:"outside_or_lost_packets"`
	// PostOutside are packets of POST sent before PRE's first or after its last.
	PostOutside uint64 `json:"post_outside_packets"`
	// Lost are packets of PRE that do not appear in POST, or too late. With OutsideOrLost, they are
	// at least those that were lost.
	Lost uint64 `json:"lost_packets"`
}

// leftOut are packets of PRE that are neither in a pair nor lost.
func (c *Counts) leftOut() uint64 {
	return c.PreAmbiguous + c.PreUnkeyed + c.PreEarly + c.PreForeign + c.PreSegmented + c.Outside + c.OutsideOrLost + c.Untimed + c.PreCopies
}

func (c *Counts) add(o Counts) {
	c.Pairs += o.Pairs
	c.Again += o.Again
	c.PreAmbiguous += o.PreAmbiguous
	c.PreCopies += o.PreCopies
	c.PostAmbiguous += o.PostAmbiguous
	c.PostUnknown += o.PostUnknown
	c.Early += o.Early
	c.Late += o.Late
	c.Untimed += o.Untimed
	c.Lost += o.Lost
}

// matching says what belongs together.
type matching struct {
	// wraps: packets with the same key are told apart by time, if they are far enough apart.
	wraps bool
	// windowNs is how late a packet may be: less than this.
	windowNs int64
	// tickNs is the step of the times: less than one is no difference.
	tickNs int64
}

// match finds the pairs. Partitions are independent: one goroutine matches each, and touches no
// packet of another.
func match(ctx context.Context, pre, post *side, how matching, progress func(done, all int64)) (*matched, error) {
	m := &matched{apart: newApart(pre.flows)}
	if err := m.receivedNs.reserve(max(pre.count, 1)); err != nil {
		return nil, err
	}
	received := m.receivedNs.all[:pre.count]
	untouched := lost
	if pre.unkeyed > 0 {
		untouched = leftOut
	}
	for i := range received {
		received[i] = untouched
	}
	parts := len(pre.chunks)
	var next, done atomic.Int64
	var lock sync.Mutex
	var workers sync.WaitGroup
	copies := how.wraps && pre.copies()
	for range min(runtime.GOMAXPROCS(0), parts) {
		workers.Go(func() {
			w := matcher{copies: copies, pre: pre, post: post, sentNs: pre.timesNs(), arrivedNs: post.timesNs(), receivedNs: received, matching: how, apart: newApart(pre.flows)}
			for ctx.Err() == nil {
				part := int(next.Add(1)) - 1
				if part >= parts {
					break
				}
				w.partition(part)
				progress(done.Add(1), int64(parts))
			}
			lock.Lock()
			defer lock.Unlock()
			m.again = append(m.again, w.again...)
			m.apart.merge(w.apart)
			m.unknown = append(m.unknown, w.unknown...)
			m.counts.add(w.counts)
			m.untimed += w.untimed
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		m.receivedNs.free()
		return nil, err
	}
	slices.SortFunc(m.again, func(a, b again) int {
		if a.packet != b.packet {
			return int(int64(a.packet) - int64(b.packet))
		}
		return compare(a.ns, b.ns)
	})
	m.leaveOutRepeated(received)
	m.counts.PreUnkeyed, m.counts.PostUnkeyed = pre.unkeyed, post.unkeyed
	for i, ns := range received {
		switch ns {
		case lost:
			m.counts.Lost++
		case leftOut:
			m.counts.PreAmbiguous++
		case early:
			received[i] = leftOut
			m.counts.PreEarly++
		}
	}
	m.counts.PreAmbiguous -= pre.unkeyed + m.untimed + m.counts.PreCopies
	m.counts.Again = uint64(len(m.again))
	return m, nil
}

// mostArrivals is how often the network may deliver one packet. A key that arrives more often says
// nothing of it: others have the same.
const mostArrivals = 8

// leaveOutRepeated leaves out packets that arrived too often.
func (m *matched) leaveOutRepeated(received []int64) {
	kept := m.again[:0]
	for rest := m.again; len(rest) > 0; {
		packet := rest[0].packet
		n := slices.IndexFunc(rest, func(a again) bool { return a.packet != packet })
		if n < 0 {
			n = len(rest)
		}
		if n < mostArrivals {
			kept = append(kept, rest[:n]...)
		} else {
			received[packet] = leftOut
			m.counts.Pairs -= uint64(n) + 1
			m.counts.PostAmbiguous += uint64(n) + 1
		}
		rest = rest[n:]
	}
	m.again = kept
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// slot of a hash table: part of the hash, and the place of its entry.
type slot struct {
	tag   uint32
	place uint32 // in the column of entries, plus 1; 0: free
}

// matcher matches partitions one after the other.
type matcher struct {
	pre, post  *side
	sentNs     []int64 // of PRE
	arrivedNs  []int64 // of POST
	receivedNs []int64 // of PRE
	copies     bool    // within microseconds at one interface
	matching

	table []slot
	mask  uint64
	// Only for keys that repeat: further packets of a key, grouped by the place of the key's first
	// entry.
	repeats []repeat
	groups  map[uint32][]uint32

	again   []again
	unknown []uint32
	apart   apart
	counts  Counts
	// untimed are the packets of PRE that are in POST, but without a time.
	untimed uint64
}

type repeat struct{ first, packet uint32 }

func (w *matcher) partition(part int) {
	w.clear(w.pre.partitionCount(part))
	w.pre.partition(part, func(first uint32, entries []entry) {
		for i := range entries {
			w.insert(&entries[i], first+uint32(i))
		}
	})
	if len(w.repeats) > 0 {
		w.group()
	}
	w.post.partition(part, func(_ uint32, entries []entry) { w.arrive(entries) })
	w.withoutTime(part)
}

// withoutTime takes the packets of POST that have no time, and those of PRE.
func (w *matcher) withoutTime(part int) {
	for _, e := range w.post.untimed[uint64(part)] {
		if packet, ok := w.find(&e, math.MinInt64); ok && w.receivedNs[packet] == lost {
			w.receivedNs[packet] = leftOut
			w.untimed++
			w.counts.Untimed++
		}
	}
	if of := w.pre.untimed[uint64(part)]; of != nil {
		known := make(map[hash96]bool, len(of))
		for _, e := range of {
			known[hash96{e.hi, e.lo}] = true
		}
		w.post.partition(part, func(_ uint32, entries []entry) {
			for i := range entries {
				if e := &entries[i]; known[hash96{e.hi, e.lo}] {
					if _, ok := w.find(e, math.MinInt64); !ok {
						w.counts.PostUnknown--
						w.counts.Untimed++
					}
				}
			}
		})
	}
}

// clear makes an empty table that will be at most half full.
func (w *matcher) clear(entries int) {
	size := 1 << bits.Len(uint(max(2*entries, 16)-1))
	if size > len(w.table) {
		w.table = make([]slot, size)
	} else {
		clear(w.table[:size])
	}
	w.mask = uint64(size - 1)
	w.repeats = w.repeats[:0]
	w.groups = nil
}

// The hash's lower bits choose the slot, and the bits above are the tag; the highest have chosen
// the partition.
func tagOf(hi uint64) uint32 { return uint32(hi >> 24) }

// insert takes a packet of PRE. The first of a key gets a slot.
func (w *matcher) insert(e *entry, place uint32) {
	tag := tagOf(e.hi)
	entries := w.pre.entries.all
	for i := e.hi & w.mask; ; i = (i + 1) & w.mask {
		s := &w.table[i]
		if s.place == 0 {
			*s = slot{tag, place + 1}
			if w.pre.unkeyed > 0 { // otherwise it already is
				w.receivedNs[e.at] = lost
			}
			return
		}
		if s.tag != tag {
			continue
		}
		first := &entries[s.place-1]
		if first.hi != e.hi || first.lo != e.lo {
			continue
		}
		if !w.wraps {
			w.receivedNs[first.at], w.receivedNs[e.at] = leftOut, leftOut
			return
		}
		w.receivedNs[e.at] = lost
		w.repeats = append(w.repeats, repeat{s.place, e.at})
		return
	}
}

// group sorts the packets of repeated keys, and leaves out copies and those too close together for a
// certain pair.
func (w *matcher) group() {
	w.groups = make(map[uint32][]uint32)
	for _, r := range w.repeats {
		members, ok := w.groups[r.first]
		if !ok {
			members = append(members, w.pre.entries.all[r.first-1].at)
		}
		w.groups[r.first] = append(members, r.packet)
	}
	for first, members := range w.groups {
		slices.Sort(members) // places are in time order
		members = w.withoutCopies(members)
		w.groups[first] = members
		for i := 1; i < len(members); i++ {
			if w.sentNs[members[i]]-w.sentNs[members[i-1]] < w.windowNs {
				w.receivedNs[members[i]], w.receivedNs[members[i-1]] = leftOut, leftOut
			}
		}
	}
}

// arrive takes up to a chunk of packets of POST. Its lookups are scattered over memory, so it does
// each step for all packets before the next: the core can then wait for many loads at once.
func (w *matcher) arrive(entries []entry) {
	var arrived, sent, received [chunkEntries]int64
	var packets [chunkEntries]uint32
	for i := range entries {
		arrived[i] = w.arrivedNs[entries[i].at]
	}
	n := 0
	for i := range entries {
		packet, ok := w.find(&entries[i], arrived[i])
		if !ok {
			w.counts.PostUnknown++
			w.unknown = append(w.unknown, entries[i].at)
			continue
		}
		packets[n], arrived[n] = packet, arrived[i]
		n++
	}
	for i, p := range packets[:n] {
		sent[i] = w.sentNs[p]
	}
	for i, p := range packets[:n] {
		received[i] = w.receivedNs[p]
	}
	for i, p := range packets[:n] {
		// Nearly all: the first arrival. But another may be in the same chunk.
		if d := arrived[i] - sent[i]; received[i] == lost && d >= 0 && d < w.windowNs && w.receivedNs[p] == lost {
			w.receivedNs[p] = arrived[i]
			w.counts.Pairs++
			continue
		}
		w.pair(p, arrived[i])
	}
}

// find finds the packet of PRE with the key of a packet of POST that arrived at ns.
func (w *matcher) find(e *entry, ns int64) (packet uint32, ok bool) {
	tag := tagOf(e.hi)
	entries := w.pre.entries.all
	for i := e.hi & w.mask; ; i = (i + 1) & w.mask {
		s := w.table[i]
		if s.place == 0 {
			return 0, false
		}
		if s.tag != tag {
			continue
		}
		first := &entries[s.place-1]
		if first.hi != e.hi || first.lo != e.lo {
			continue
		}
		if w.groups != nil {
			return w.latest(s.place, first.at, ns), true
		}
		return first.at, true
	}
}

// latest is the last packet of a key sent until ns; the first if none was.
func (w *matcher) latest(first, packet uint32, ns int64) uint32 {
	members, ok := w.groups[first]
	if !ok {
		return packet
	}
	n, _ := slices.BinarySearchFunc(members, ns+1, func(m uint32, ns int64) int { return compare(w.sentNs[m], ns) })
	return members[max(n-1, 0)]
}

// pair records an arrival of a packet of PRE.
func (w *matcher) pair(packet uint32, ns int64) {
	r, sent := w.receivedNs[packet], w.sentNs[packet]
	if r == leftOut {
		w.counts.PostAmbiguous++
		return
	}
	delay := ns - sent
	if delay < 0 && -delay < w.tickNs {
		delay, ns = 0, sent
	}
	switch {
	case delay < 0:
		w.counts.Early++
		if r == lost {
			w.receivedNs[packet] = early
		}
		w.apart.early[w.apart.index(w.pre.flows.of.all[packet])].add(delay)
	case delay >= w.windowNs:
		w.counts.Late++
		w.apart.late[w.apart.index(w.pre.flows.of.all[packet])].add(delay)
	default:
		w.counts.Pairs++
		switch {
		case r == lost || r == early:
			w.receivedNs[packet] = ns
		case ns < r:
			w.receivedNs[packet] = ns
			w.again = append(w.again, again{packet, r})
		default:
			w.again = append(w.again, again{packet, ns})
		}
	}
}
