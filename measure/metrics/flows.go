package metrics

import "nines.dev/nines/result"

// Flow is one flow of a stream.
type Flow struct {
	Name       string
	Duplicates uint64
}

// OfFlows computes the metrics of each flow of a stream by itself: flowOf says which
// of flows a packet belongs to. Beside what Of needs it takes 4 bytes a packet, and 8
// more with an Arrival.
func OfFlows(flows []Flow, flowOf func(packet int) int, s Stream) []result.FlowMetrics {
	s.check()
	members := group(flows, flowOf, len(s.SentNs), func(i int) uint32 { return uint32(i) })
	var arrivals [][]uint32
	if s.Arrival != nil {
		place := make([]uint32, len(s.SentNs)) // of each packet within its flow
		for _, packets := range members {
			for i, packet := range packets {
				place[packet] = uint32(i)
			}
		}
		arrivals = group(flows, func(i int) int { return flowOf(int(s.Arrival[i])) }, len(s.Arrival),
			func(i int) uint32 { return place[s.Arrival[i]] })
	}
	list := make([]result.FlowMetrics, len(flows))
	for f, packets := range members {
		one := Stream{
			SentNs: pick(s.SentNs, packets), ReceivedNs: pick(s.ReceivedNs, packets), DueNs: pick(s.DueNs, packets),
			Duplicates: flows[f].Duplicates,
		}
		if arrivals != nil {
			one.Arrival = arrivals[f]
		}
		list[f] = Of(flows[f].Name, one)
	}
	return list
}

// group lists value(0) to value(n − 1) by flow, in order.
func group(flows []Flow, flowOf func(i int) int, n int, value func(i int) uint32) [][]uint32 {
	ends := make([]int, len(flows)+1)
	for i := range n {
		ends[flowOf(i)+1]++
	}
	for f := range flows {
		ends[f+1] += ends[f]
	}
	all := make([]uint32, n)
	at := append([]int(nil), ends[:len(flows)]...)
	for i := range n {
		f := flowOf(i)
		all[at[f]] = value(i)
		at[f]++
	}
	grouped := make([][]uint32, len(flows))
	for f := range flows {
		grouped[f] = all[ends[f]:ends[f+1]:ends[f+1]]
	}
	return grouped
}

func pick(from []int64, packets []uint32) []int64 {
	if from == nil {
		return nil
	}
	picked := make([]int64, len(packets))
	for i, packet := range packets {
		picked[i] = from[packet]
	}
	return picked
}
