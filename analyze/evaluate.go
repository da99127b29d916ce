package analyze

import (
	"context"
	"slices"
	"sort"

	"nines.dev/nines/result"
)

// Settings of the published evaluation.
const (
	bucketNs  = 100  // of its histograms
	worstRows = 5000 // of its list of the slowest packets
)

// Bucket is a row of a histogram: values from LowNs up to, not including, LowNs + 100 ns.
type Bucket struct {
	LowNs int64
	Count uint64
}

// Second is a row of a packet rate.
type Second struct {
	StartNs int64
	Count   uint64
}

// Worst is one of the slowest pairs.
type Worst struct {
	LatencyNs, PreNs, PostNs int64
	// Packet is its place in PRE in time order; Number is its place in the file, from 1.
	Packet uint32
	Number uint64
	Key    []byte
	hash   hash96 // of what was compared
	ID     uint32 // from the key, if it has one; else Number
	Flow   string // addresses, ports and protocol
}

// Evaluation has the content of the published files.
type Evaluation struct {
	// PreReceived and PostReceived count all packets of the files; those with Trimmed, only packets
	// at least the trim after the first.
	PreReceived, PostReceived               uint64
	PreReceivedTrimmed, PostReceivedTrimmed uint64
	// Pairs is the number of evaluated pairs: without those whose arrival was trimmed.
	Pairs uint64
	// Latency has no empty buckets.
	Latency []Bucket
	// Percentiles are the PublishedPercentiles of all pairs; nil without a pair. Those of the first
	// arrivals alone differ where packets arrived more than once.
	Percentiles       []int64
	Worst             []Worst
	PreRate, PostRate []Second
	PreGaps, PostGaps []Bucket

	first result.Sparse // latency of the first arrivals
	// firstBuckets and firstPercentiles are the Latency and the Percentiles of the first arrivals.
	firstBuckets     []Bucket
	firstPercentiles []int64
	sumNs            float64 // of all latencies
}

// pair is a pair of times; packet is its place in PRE.
type pair struct {
	preNs, postNs int64
	packet        uint32
	again         bool
}

// pairs iterates over the pairs in order of PRE's times, then POST's.
type pairs struct {
	sentNs, receivedNs []int64
	again              []again
	// fromNs is the earliest arrival that counts.
	fromNs int64
}

const blockPairs = 2048

func (p pairs) each(ctx context.Context, do func([]pair) error) error {
	block := make([]pair, 0, blockPairs)
	rest := p.again
	flush := func() error {
		// Packets with equal times: order their arrivals too.
		for i := 1; i < len(block); i++ {
			if block[i].preNs == block[i-1].preNs && block[i].postNs < block[i-1].postNs {
				sort.SliceStable(block, func(a, b int) bool {
					x, y := &block[a], &block[b]
					return x.preNs < y.preNs || x.preNs == y.preNs && x.postNs < y.postNs
				})
				break
			}
		}
		err := do(block)
		block = block[:0]
		return err
	}
	for i, ns := range p.receivedNs {
		if ns <= leftOut { // or lost
			continue
		}
		sent := p.sentNs[i]
		// A block ends between packets with different times.
		if len(block) >= blockPairs-64 && block[len(block)-1].preNs != sent {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := flush(); err != nil {
				return err
			}
		}
		if ns >= p.fromNs {
			block = append(block, pair{preNs: sent, postNs: ns, packet: uint32(i)})
		}
		for len(rest) > 0 && rest[0].packet == uint32(i) {
			if rest[0].ns >= p.fromNs {
				block = append(block, pair{sent, rest[0].ns, uint32(i), true})
			}
			rest = rest[1:]
		}
	}
	if len(block) == 0 {
		return nil
	}
	return flush()
}

// evaluate computes the published evaluation except the file of all pairs.
func evaluate(ctx context.Context, p pairs, post []int64, trimNs int64) (*Evaluation, error) {
	pre := p.sentNs
	preTrimmed, postTrimmed := trimmed(pre, trimNs), trimmed(post, trimNs)
	e := &Evaluation{
		PreReceived: uint64(len(pre)), PostReceived: uint64(len(post)),
		PreReceivedTrimmed: uint64(len(preTrimmed)), PostReceivedTrimmed: uint64(len(postTrimmed)),
		PreRate: rate(preTrimmed), PostRate: rate(postTrimmed),
		PreGaps: gapHistogram(preTrimmed), PostGaps: gapHistogram(postTrimmed),
	}
	var latencies, firsts counter
	first, again := newSparse(), len(p.again) > 0
	err := p.each(ctx, func(block []pair) error {
		for i := range block {
			latency := block[i].postNs - block[i].preNs
			latencies.add(latency / bucketNs)
			if block[i].again {
				e.sumNs += float64(latency)
				continue
			}
			first.add(latency)
			if again {
				firsts.add(latency / bucketNs)
			}
		}
		e.Pairs += uint64(len(block))
		return nil
	})
	if err != nil {
		return nil, err
	}
	e.Latency, e.first = latencies.buckets(), first.sparse()
	e.sumNs += e.first.Sum
	if again {
		e.firstBuckets = firsts.buckets()
	}
	return e, e.second(ctx, p)
}

// trimmed returns the times at least the trim after the first.
func trimmed(times []int64, trimNs int64) []int64 {
	if len(times) == 0 {
		return times
	}
	from, _ := slices.BinarySearch(times, times[0]+trimNs)
	return times[from:]
}

// rate counts packets per second from the first packet on; empty seconds have no row.
func rate(times []int64) []Second {
	var rows []Second
	for i := 0; i < len(times); {
		start := times[0] + (times[i]-times[0])/1e9*1e9
		n, _ := slices.BinarySearch(times[i:], start+1e9)
		rows = append(rows, Second{start, uint64(n)})
		i += n
	}
	return rows
}

func gapHistogram(times []int64) []Bucket {
	var gaps counter
	for i := 1; i < len(times); i++ {
		gaps.add((times[i] - times[i-1]) / bucketNs)
	}
	return gaps.buckets()
}

// second goes through the pairs again with the help of the histogram: for the values in the buckets
// of the percentiles, and those with the worst packets.
func (e *Evaluation) second(ctx context.Context, p pairs) error {
	if e.Pairs == 0 {
		return nil
	}
	percentiles, firsts := newRanks(e.Latency, e.Pairs), newRanks(e.firstBuckets, e.first.Count)
	slowest := newSlowest(e.Latency)
	err := p.each(ctx, func(block []pair) error {
		for i := range block {
			latency := block[i].postNs - block[i].preNs
			percentiles.add(latency)
			if firsts != nil && !block[i].again {
				firsts.add(latency)
			}
			if latency >= slowest.from {
				slowest.add(&block[i])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	e.Percentiles, e.Worst = percentiles.values(), slowest.sorted()
	switch {
	case firsts != nil:
		e.firstPercentiles = firsts.values()
	case e.first.Count == e.Pairs:
		e.firstPercentiles = e.Percentiles
	}
	return nil
}

// ranks finds exact percentiles. A bucket has a hundred values: in the buckets of percentiles each
// value is counted, so nothing needs sorting.
type ranks struct {
	where []rankPlace
	// fine is the index of a bucket's counts, plus 1.
	fine   []uint16
	counts [][bucketNs]uint32
}

type rankPlace struct {
	low    int64  // of the bucket
	index  int    // of its counts
	within uint64 // rank in the bucket, from 1
}

// newRanks is nil without buckets.
func newRanks(buckets []Bucket, count uint64) *ranks {
	if len(buckets) == 0 {
		return nil
	}
	r := &ranks{fine: make([]uint16, buckets[len(buckets)-1].LowNs/bucketNs+1)}
	at, before := 0, uint64(0)
	for _, p := range PublishedPercentiles() {
		rank := result.Rank(p.P, count)
		for before+buckets[at].Count < rank {
			before += buckets[at].Count
			at++
		}
		low := buckets[at].LowNs
		if r.fine[low/bucketNs] == 0 {
			r.counts = append(r.counts, [bucketNs]uint32{})
			r.fine[low/bucketNs] = uint16(len(r.counts))
		}
		r.where = append(r.where, rankPlace{low, int(r.fine[low/bucketNs]) - 1, rank - before})
	}
	return r
}

func (r *ranks) add(latency int64) {
	bucket := latency / bucketNs
	if f := r.fine[bucket]; f != 0 {
		r.counts[f-1][latency-bucket*bucketNs]++
	}
}

func (r *ranks) values() []int64 {
	values := make([]int64, len(r.where))
	for i, w := range r.where {
		seen := uint64(0)
		for v, n := range r.counts[w.index] {
			if seen += uint64(n); seen >= w.within {
				values[i] = w.low + int64(v)
				break
			}
		}
	}
	return values
}

// slowest keeps the worst pairs in a heap, the least slow on top.
type slowest struct {
	from int64 // no latency kept is below this
	heap []pair
}

func newSlowest(buckets []Bucket) *slowest {
	s := &slowest{from: buckets[0].LowNs}
	above := uint64(0)
	for i := len(buckets) - 1; i >= 0; i-- {
		if above += buckets[i].Count; above >= worstRows {
			s.from = buckets[i].LowNs
			break
		}
	}
	return s
}

// worse orders the list: largest latency first, then earliest in PRE, then in POST.
func worse(a, b *pair) bool {
	switch la, lb := a.postNs-a.preNs, b.postNs-b.preNs; {
	case la != lb:
		return la > lb
	case a.preNs != b.preNs:
		return a.preNs < b.preNs
	default:
		return a.packet < b.packet
	}
}

func (s *slowest) add(p *pair) {
	h := s.heap
	if len(h) < worstRows {
		h = append(h, *p)
		for i := len(h) - 1; i > 0 && worse(&h[(i-1)/2], &h[i]); i = (i - 1) / 2 {
			h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
		}
		s.heap = h
		return
	}
	if !worse(p, &h[0]) {
		return
	}
	h[0] = *p
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && worse(&h[child], &h[child+1]) {
			child++
		}
		if !worse(&h[i], &h[child]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

func (s *slowest) sorted() []Worst {
	sort.Slice(s.heap, func(i, j int) bool { return worse(&s.heap[i], &s.heap[j]) })
	rows := make([]Worst, len(s.heap))
	for i, p := range s.heap {
		rows[i] = Worst{LatencyNs: p.postNs - p.preNs, PreNs: p.preNs, PostNs: p.postNs, Packet: p.packet}
	}
	return rows
}
