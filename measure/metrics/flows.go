package metrics

import "nines.dev/nines/result"

// Flow is one flow of a stream.
type Flow struct {
	Name       string
	Duplicates uint64
}

// OfFlows computes the metrics of each flow of a stream separately: flowOf says which of flows a
// packet belongs to. In addition to what Of needs for the largest flow, it takes a copy of the
// stream's times, flow by flow, and 8 bytes per packet with an Arrival.
func OfFlows(flows []Flow, flowOf func(packet int) int, s Stream) []result.FlowMetrics {
	s.check()
	sent := group(flows, flowOf, len(s.SentNs), func(i int) int64 { return s.SentNs[i] })
	received := group(flows, flowOf, len(s.SentNs), func(i int) int64 { return s.ReceivedNs[i] })
	var due [][]int64
	if s.DueNs != nil {
		due = group(flows, flowOf, len(s.SentNs), func(i int) int64 { return s.DueNs[i] })
	}
	var arrivals [][]uint32
	if s.Arrival != nil {
		place := make([]uint32, len(s.SentNs)) // index of each packet within its flow
		next := make([]uint32, len(flows))
		for packet := range place {
			f := flowOf(packet)
			place[packet] = next[f]
			next[f]++
		}
		arrivals = group(flows, func(i int) int { return flowOf(int(s.Arrival[i])) }, len(s.Arrival),
			func(i int) uint32 { return place[s.Arrival[i]] })
	}
	list := make([]result.FlowMetrics, len(flows))
	for f := range flows {
		one := Stream{SentNs: sent[f], ReceivedNs: received[f], Duplicates: flows[f].Duplicates}
		if due != nil {
			one.DueNs = due[f]
		}
		if arrivals != nil {
			one.Arrival = arrivals[f]
		}
		list[f] = Of(flows[f].Name, one)
	}
	return list
}

// group lists value(0) to value(n − 1) by flow, in order.
func group[T any](flows []Flow, flowOf func(i int) int, n int, value func(i int) T) [][]T {
	ends := make([]int, len(flows)+1)
	for i := range n {
		ends[flowOf(i)+1]++
	}
	for f := range flows {
		ends[f+1] += ends[f]
	}
	all := make([]T, n)
	at := append([]int(nil), ends[:len(flows)]...)
	for i := range n {
		f := flowOf(i)
		all[at[f]] = value(i)
		at[f]++
	}
	grouped := make([][]T, len(flows))
	for f := range flows {
		grouped[f] = all[ends[f]:ends[f+1]:ends[f+1]]
	}
	return grouped
}
