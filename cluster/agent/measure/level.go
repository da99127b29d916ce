package measure

import (
	"cmp"
	"slices"

	"nines.dev/nines/result"
)

// Level is where the latencies of a trial lie, without its tail: what a change of the path moves.
type Level struct {
	// P50Ns is the median of all packets.
	P50Ns int64
	// QuietNs is the latency where nothing disturbed the trial: a tenth of a block's packets is no slower, and in a
	// quarter of the blocks this is no larger. What takes CPUs away delays some packets, in some blocks, and moves it
	// little: on a host whose CPUs were wanted by ten programs each, by a third. A slower path moves every packet.
	QuietNs int64
}

// Known reports whether the trial has blocks of time.
func (l Level) Known() bool { return l.P50Ns > 0 && l.QuietNs > 0 }

// levelBlocks is how many blocks of time a level is taken from: so few that the shortest trials have some packets in each.
const levelBlocks = 20

// LevelOf returns the level of a trial by its blocks of time; none if too few of them have packets.
func LevelOf(blocks []*result.Packed) Level {
	var all []result.Bucket
	var quick []int64
	for i := range levelBlocks {
		var part []result.Bucket
		for _, block := range blocks[i*len(blocks)/levelBlocks : (i+1)*len(blocks)/levelBlocks] {
			part = slices.AppendSeq(part, block.Buckets())
		}
		if len(part) > 0 {
			quick = append(quick, ranked(part, 0.1))
		}
		all = append(all, part...)
	}
	if len(quick) < levelBlocks/2 {
		return Level{}
	}
	slices.Sort(quick)
	return Level{P50Ns: ranked(all, 0.5), QuietNs: quick[len(quick)/4]}
}

// ranked returns a percentile of packets by their buckets, in any order.
func ranked(buckets []result.Bucket, p float64) int64 {
	slices.SortFunc(buckets, func(a, b result.Bucket) int { return cmp.Compare(a.HighNs, b.HighNs) })
	var count uint64
	for _, b := range buckets {
		count += b.Count
	}
	left := result.Rank(p, count)
	for _, b := range buckets {
		if b.Count >= left {
			return b.HighNs
		}
		left -= b.Count
	}
	return 0 // there are no packets
}
