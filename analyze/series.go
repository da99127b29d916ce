package analyze

import (
	"math"
	"slices"

	"nines.dev/nines/analyze/clock"
	"nines.dev/nines/result"
)

// seriesIntervals is the most intervals of a series: more than a screen shows apart.
const seriesIntervals = 400

// series evaluates the packets in equal intervals of their times in PRE, which are in order.
func series(s *stream) result.PairSeries {
	first, last := s.sentNs[0], s.sentNs[len(s.sentNs)-1]
	step := seriesStep(last - first)
	n := int((last-first)/step) + 1
	out := result.PairSeries{
		StepNs: step, Sent: make([]uint64, n), Lost: make([]uint64, n),
		LeastNs: make([]*int64, n), P50Ns: make([]*int64, n), P99Ns: make([]*int64, n), MostNs: make([]*int64, n),
	}
	var latencies []int64 // of one interval at a time
	for from := 0; from < len(s.sentNs); {
		at := (s.sentNs[from] - first) / step
		count, _ := slices.BinarySearch(s.sentNs[from:], first+(at+1)*step)
		latencies = latencies[:0]
		least, most := int64(math.MaxInt64), int64(math.MinInt64)
		for i, received := range s.receivedNs[from : from+count] {
			if received != lost {
				latency := received - s.sentNs[from+i]
				least, most = min(least, latency), max(most, latency)
				latencies = append(latencies, latency)
			}
		}
		out.Sent[at], out.Lost[at] = uint64(count), uint64(count-len(latencies))
		if len(latencies) > 0 {
			out.LeastNs[at], out.MostNs[at] = &least, &most
			out.P50Ns[at], out.P99Ns[at] = medianAndP99(latencies)
		}
		from += count
	}
	return out
}

// medianAndP99 reorders the latencies. Nil are those for which there are too few.
func medianAndP99(latencies []int64) (p50, p99 *int64) {
	count := uint64(len(latencies))
	if !result.Supports(0.5, count) {
		return nil, nil
	}
	rank := result.Rank(0.5, count)
	median := ranked(latencies, rank)
	if !result.Supports(0.99, count) {
		return &median, nil
	}
	// What is less than the median is before it now.
	above := ranked(latencies[rank-1:], result.Rank(0.99, count)-rank+1)
	return &median, &above
}

// clockOver is how far the second clock has moved by the middle of each interval with packets.
func clockOver(s result.PairSeries, firstNs int64, clocks clock.Estimate) []*int64 {
	all := make([]*int64, len(s.Sent))
	for i := range all {
		if s.Sent[i] > 0 {
			moved := clocks.Moved(firstNs + int64(i)*s.StepNs + s.StepNs/2)
			all[i] = &moved
		}
	}
	return all
}

// seriesStep is the least of 1, 2 and 5 times a power of ten whose intervals cover a span.
func seriesStep(spanNs int64) int64 {
	for power := int64(1); ; power *= 10 {
		for _, step := range []int64{power, 2 * power, 5 * power} {
			if spanNs/step < seriesIntervals {
				return step
			}
		}
	}
}
