package attribution

import (
	"cmp"
	"slices"

	"nines.dev/nines/result"
)

// partOf is the smallest fraction of a packet's latency that counts as a part: a hundredth.
const partOf = 100

// Totals returns how much each cause took of a packet over all phases, largest first. It includes
// unexplained time.
func Totals(p result.PacketCauses) []result.CauseShare {
	sums := make(map[result.Cause]int64)
	for _, phase := range p.Phases {
		for _, share := range phase.Causes {
			sums[share.Cause] += share.Ns
		}
		if phase.UnexplainedNs > 0 {
			sums[unexplained] += phase.UnexplainedNs
		}
	}
	list := make([]result.CauseShare, 0, len(sums))
	for cause, ns := range sums {
		list = append(list, result.CauseShare{Cause: cause, Ns: ns})
	}
	sortShares(list)
	return list
}

// Slowest returns the count slowest packets, slowest first; of equally slow packets, the first.
func Slowest(packets []result.PacketCauses, count int) []result.PacketCauses {
	sorted := slices.SortedStableFunc(slices.Values(packets), func(a, b result.PacketCauses) int {
		return cmp.Compare(b.LatencyNs, a.LatencyNs)
	})
	return sorted[:min(count, len(sorted))]
}

var unexplained = result.Cause{Kind: Unexplained, CPU: -1}

// rank orders causes by how many of the slowest packets each accounts for. Packets whose events
// were not kept do not count. A cause that is as likely, and as large, around an ordinary packet
// explains nothing: of the packets where it is the largest part, only the fraction 1 − 1/lift
// counts, which is epidemiology's attributable fraction among the exposed (Levin, 1953).
func rank(slowest []result.PacketCauses, ordinary []passage, u usual) []result.RankedCause {
	type seen struct {
		result.RankedCause
		first, any []int64 // packets where it is the first cause, or has a part
	}
	found := make(map[result.Cause]*seen)
	slowest = slices.DeleteFunc(slices.Clone(slowest), func(p result.PacketCauses) bool { return !p.Recorded })
	for _, p := range slowest {
		for place, share := range Totals(p) {
			s := found[share.Cause]
			if s == nil {
				s = &seen{RankedCause: result.RankedCause{Cause: share.Cause}}
				found[share.Cause] = s
			}
			s.TotalNs += share.Ns
			if place == 0 {
				s.Packets++
				s.first = append(s.first, share.Ns)
			}
			if place == 0 || share.Ns*partOf >= p.LatencyNs {
				s.Present++
				s.any = append(s.any, share.Ns)
			}
		}
	}
	around := make([][]result.CauseShare, 0, len(ordinary))
	for i := range ordinary {
		around = append(around, Totals(u.packet(ordinary[i])))
	}
	ranking := make([]result.RankedCause, 0, len(found))
	weights := make(map[result.Cause]float64)
	for cause, s := range found {
		if s.Present == 0 {
			continue
		}
		sizes := s.first
		if len(sizes) == 0 {
			sizes = s.any
		}
		size := quantile(slices.Clone(sizes), len(sizes), 0.5) / 2
		atLeast := func(list []int64) (n int) {
			for _, ns := range list {
				if ns >= size {
					n++
				}
			}
			return n
		}
		usually := 0
		for _, shares := range around {
			if slices.ContainsFunc(shares, func(other result.CauseShare) bool { return other.Cause == cause && other.Ns >= size }) {
				usually++
			}
		}
		weights[cause] = float64(s.Packets)
		if usually > 0 {
			lift := float64(atLeast(s.any)) / float64(len(slowest)) * float64(len(around)) / float64(usually)
			s.Lift = &lift
			if cause.Kind != Impaired { // that it delays packets is known, also where it delays all alike
				weights[cause] *= 1 - 1/max(lift, 1)
			}
		}
		ranking = append(ranking, s.RankedCause)
	}
	slices.SortFunc(ranking, func(a, b result.RankedCause) int {
		return cmp.Or(cmp.Compare(weights[b.Cause], weights[a.Cause]), cmp.Compare(b.Packets, a.Packets),
			cmp.Compare(b.TotalNs, a.TotalNs), compare(a.Cause, b.Cause))
	})
	return ranking
}
