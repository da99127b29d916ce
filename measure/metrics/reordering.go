package metrics

import "nines.dev/nines/result"

// reordering computes RFC 4737's metrics from the packets in order of arrival, each given by its
// place in send order. It overwrites order with the running maximum: the latest sent packet among
// those that had arrived up to each position.
//
// These only rise, so a packet's discontinuity, the first arrival of one sent later, is found by a
// backward search from its own arrival, in steps that double: a short search if the reordering is
// short.
func reordering(order []uint32, receivedNs []int64) result.Reordering {
	var r result.Reordering
	var extents uint64
	var run, runs, inOrder uint64
	breaks := discontinuities{positions: len(order)}
	latest := order
	for i, packet := range order {
		if i == 0 || packet > latest[i-1] {
			latest[i] = packet // in order: section 3.3
			run++
			inOrder++
			continue
		}
		latest[i] = latest[i-1]
		if run > 0 {
			runs++
			run = 0
		}
		j := firstAfter(latest[:i], packet)
		extent := uint64(i - j)
		r.Reordered++
		extents += extent
		r.ExtentMax = max(r.ExtentMax, extent)
		r.LateMaxNs = max(r.LateMaxNs, receivedNs[packet]-receivedNs[latest[j]])
		breaks.add(j)
	}
	if run > 0 {
		runs++
	}
	if r.Reordered > 0 {
		r.Ratio = float64(r.Reordered) / float64(len(order))
		r.ExtentMean = float64(extents) / float64(r.Reordered)
	}
	r.GapMean = breaks.meanGap()
	if runs > 0 {
		r.FreeRunMean = float64(inOrder) / float64(runs)
	}
	return r
}

// firstAfter is the first position whose latest packet was sent after this one. The last position's
// must have been.
func firstAfter(latest []uint32, packet uint32) int {
	low, high := -1, len(latest)-1 // not after, or before the first; after
	for step := 1; high-step >= 0; step *= 2 {
		if latest[high-step] <= packet {
			low = high - step
			break
		}
		high -= step
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		if latest[middle] > packet {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// discontinuities are the arrivals that overtook earlier packets (section 4.5), each counted once.
type discontinuities struct {
	positions   int
	seen        bitset
	first, last int
	count       uint64
}

func (d *discontinuities) add(at int) {
	if d.seen == nil {
		d.seen = makeBitset(d.positions, true)
		d.first, d.last = at, at
	}
	if d.seen.has(at) {
		return
	}
	d.seen.set(at)
	d.first, d.last = min(d.first, at), max(d.last, at)
	d.count++
}

// meanGap is the mean distance between consecutive ones, in arrivals.
func (d *discontinuities) meanGap() float64 {
	if d.count < 2 {
		return 0
	}
	return float64(d.last-d.first) / float64(d.count-1)
}
