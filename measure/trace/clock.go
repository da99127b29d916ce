package trace

import "sync/atomic"

// clock lets the programs convert the CPUs' counters to time: packets carry the counter value of
// their send time, and programs cannot read the counter.
type clock struct {
	// shared is struct clock of bpf/record.h: version, base ticks, base ns, scale, late ns.
	shared []uint64
	// first is the first pair of readings, from which the rate follows.
	first, base pair
}

const clockWords = 5

// pair is one moment on both clocks.
type pair struct {
	ticks uint64
	ns    int64
}

// readPair reads both clocks, with a counter reading on each side of the time; of several tries it
// returns the closest.
func readPair() pair {
	var best pair
	width := ^uint64(0)
	for range 5 {
		before := counter()
		ns := monotonic()
		if after := counter(); after-before < width {
			width = after - before
			best = pair{before + width/2, ns}
		}
	}
	return best
}

// rateNs is the shortest time between two readings for the counter's rate: a reading's 30 ns are
// then less than a millionth.
const rateNs = 50_000_000

// lateFrom sets the latency from which packets are always followed; 0 for none.
func (c *clock) lateFrom(ns int64) {
	if len(c.shared) > 0 {
		atomic.StoreUint64(&c.shared[4], uint64(ns))
	}
}

// refresh updates the base to now.
func (c *clock) refresh() {
	now := readPair()
	if now.ticks == 0 || len(c.shared) == 0 {
		return // no known counter on this CPU
	}
	if c.first.ticks == 0 {
		c.first = now
		return
	}
	if now.ns-c.first.ns < rateNs {
		return
	}
	// A clock being corrected changes its rate: the last readings give the current one.
	from := c.first
	if c.base.ticks != 0 && now.ns-c.base.ns >= rateNs {
		from = c.base
	}
	scale := uint64(float64(now.ns-from.ns) / float64(now.ticks-from.ticks) * (1 << 32))
	version := c.shared[0] + 1
	atomic.StoreUint64(&c.shared[0], version)
	atomic.StoreUint64(&c.shared[1], now.ticks)
	atomic.StoreUint64(&c.shared[2], uint64(now.ns))
	atomic.StoreUint64(&c.shared[3], scale)
	atomic.StoreUint64(&c.shared[0], version+1)
	c.base = now
}
