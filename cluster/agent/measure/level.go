package measure

import (
	"cmp"
	"slices"

	"nines.dev/nines/result"
)

// Level is where the latencies of a trial lie: what a change of the path moves.
type Level struct {
	// P50Ns is the median of all packets.
	P50Ns int64
	// QuietNs is the latency where nothing disturbed the trial: a tenth of a block's packets is no slower, and in a
	// quarter of the blocks this is no larger. What takes CPUs away delays some packets, in some blocks, and moves it
	// little: on a host whose CPUs were wanted by ten programs each, by a third. A slower path moves every packet.
	QuietNs int64
	// TailNs is the p99 where little disturbed the trial: of a block's packets, and in a quarter of the blocks it is no
	// larger. A queue that is often full, or a policer, moves this alone. It is 0 for trials with too few packets.
	TailNs int64
}

// Known reports whether the trial has blocks of time.
func (l Level) Known() bool { return l.P50Ns > 0 && l.QuietNs > 0 }

// levelBlocks is how many blocks of time a level is taken from: so few that the shortest trials have some packets in each.
const levelBlocks = 20

// tailBlocks is how many blocks of time the tail is taken from, and tailPackets how many packets each has on average: four
// must be beyond its p99.
const (
	tailBlocks  = 10
	tailPackets = 400
)

// LevelOf returns the level of a trial by its blocks of time; none if too few of them have packets.
func LevelOf(blocks []*result.Packed) Level {
	all, quick := quarter(blocks, levelBlocks, 0.1)
	if quick == 0 {
		return Level{}
	}
	level := Level{P50Ns: ranked(all, 0.5), QuietNs: quick}
	if count(all) >= tailBlocks*tailPackets {
		_, level.TailNs = quarter(blocks, tailBlocks, 0.99)
	}
	return level
}

// quarter returns all packets, and the percentile of a block's packets that in a quarter of so many blocks is no larger; 0
// if too few blocks have packets.
func quarter(blocks []*result.Packed, parts int, p float64) (all []result.Bucket, value int64) {
	var of []int64
	for i := range parts {
		var part []result.Bucket
		for _, block := range blocks[i*len(blocks)/parts : (i+1)*len(blocks)/parts] {
			part = slices.AppendSeq(part, block.Buckets())
		}
		if len(part) > 0 {
			of = append(of, ranked(part, p))
		}
		all = append(all, part...)
	}
	if len(of) < parts/2 {
		return all, 0
	}
	slices.Sort(of)
	return all, of[len(of)/4]
}

// count returns how many packets buckets have.
func count(buckets []result.Bucket) (count uint64) {
	for _, b := range buckets {
		count += b.Count
	}
	return count
}

// ranked returns a percentile of packets by their buckets, in any order.
func ranked(buckets []result.Bucket, p float64) int64 {
	slices.SortFunc(buckets, func(a, b result.Bucket) int { return cmp.Compare(a.HighNs, b.HighNs) })
	left := result.Rank(p, count(buckets))
	for _, b := range buckets {
		if b.Count >= left {
			return b.HighNs
		}
		left -= b.Count
	}
	return 0 // there are no packets
}
