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
