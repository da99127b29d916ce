package jitter

import (
	"slices"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/result"
)

// LongGapNs is the shortest gap that counts as noticeable for a packet: a cache miss or an ordinary
// interrupt takes less.
const LongGapNs = 10_000

// Check is one jitter measurement of some CPUs.
type Check struct {
	Started  time.Time     `json:"started"`
	Duration time.Duration `json:"duration_ns"`
	Kernel   string        `json:"kernel"`
	// CommandLine is the kernel's command line.
	CommandLine string `json:"command_line"`
	// Profile is the profile of nines tune in force; empty for none.
	Profile string `json:"profile,omitempty"`
	// Scheduling is how the measuring threads were scheduled.
	Scheduling string `json:"scheduling"`
	CPUs       []CPU  `json:"cpus"`
}

// CPU is what was taken from one CPU.
type CPU struct {
	CPU       int   `json:"cpu"`
	ElapsedNs int64 `json:"elapsed_ns"`
	// Gaps counts all gaps that the meter saw, at least 1 µs long; LongGaps those over 10 µs.
	Gaps            uint64  `json:"gaps"`
	LongGaps        uint64  `json:"long_gaps"`
	LongGapsASecond float64 `json:"long_gaps_a_second"`
	// GapP9999Ns is the length that one gap in 10,000 exceeds; 0 if there were fewer.
	GapP9999Ns int64 `json:"gap_p99_99_ns"`
	// WaitP9999Ns is how long one in 10,000 packets that arrive at a random instant would wait for
	// the CPU.
	WaitP9999Ns int64 `json:"wait_p99_99_ns"`
	LongestNs   int64 `json:"longest_ns"`
	// TakenNs is the sum of all gaps. Of it, other threads took RunDelayNs by the scheduler's
	// count, and the hypervisor StealNs by /proc/stat, in steps of 10 ms; the rest are interrupts,
	// or a hypervisor that does not report.
	TakenNs    int64 `json:"taken_ns"`
	RunDelayNs int64 `json:"run_delay_ns"`
	StealNs    int64 `json:"steal_ns"`
	// Slices are the nanoseconds taken per second, one value per slice of the measurement.
	Slices []float64 `json:"slices"`
}

// TakenPPM is the share of time that was taken, in parts per million.
func (c CPU) TakenPPM() float64 {
	if c.ElapsedNs == 0 {
		return 0
	}
	return float64(c.TakenNs) / float64(c.ElapsedNs) * 1e6
}

// gap is a length and the number of gaps with it.
type gap struct {
	ns    int64
	count uint64
}

// gathered accumulates one CPU over all slices.
type gathered struct {
	CPU
	counts map[int64]uint64 // by HdrHistogram's index
}

func (g *gathered) add(w client.Watched) {
	g.ElapsedNs += w.ElapsedNs
	g.RunDelayNs += w.RunDelayNs
	g.Gaps += w.Gaps.Count
	g.TakenNs += w.Gaps.TotalNs
	g.LongestNs = max(g.LongestNs, w.Gaps.MaxNs)
	if w.ElapsedNs > 0 {
		g.Slices = append(g.Slices, float64(w.Gaps.TotalNs)/float64(w.ElapsedNs)*1e9)
	}
	for _, row := range w.Lengths.Counts {
		g.counts[row[0]] += uint64(row[1])
	}
}

// subBits is HdrHistogram's for 3 significant digits (engine/stats/histogram.h).
const subBits = 11

// lengthAt is the smallest length with this index in the histogram's counts.
func lengthAt(index int64) int64 {
	if index < 1<<subBits {
		return index
	}
	bucket := index>>(subBits-1) - 1
	return (index - bucket<<(subBits-1)) << bucket
}

func (g *gathered) summary() CPU {
	gaps := make([]gap, 0, len(g.counts))
	for index, count := range g.counts {
		gaps = append(gaps, gap{lengthAt(index), count})
	}
	slices.SortFunc(gaps, func(a, b gap) int { return int(a.ns - b.ns) })
	c := g.CPU
	for _, one := range gaps {
		if one.ns > LongGapNs {
			c.LongGaps += one.count
		}
	}
	if c.ElapsedNs > 0 {
		c.LongGapsASecond = float64(c.LongGaps) / (float64(c.ElapsedNs) / 1e9)
	}
	c.GapP9999Ns = lengthP9999(gaps, c.Gaps)
	c.WaitP9999Ns = waitP9999(gaps, c.ElapsedNs)
	return c
}

// The percentile of lengths and waits: what one in so many exceeds.
const (
	p9999 = 0.9999
	oneIn = 10_000
)

// lengthP9999 is 0 for too few gaps.
func lengthP9999(gaps []gap, total uint64) int64 {
	if !result.Supports(p9999, total) {
		return 0
	}
	over := total - result.Rank(p9999, total) // so many may be longer
	for _, one := range slices.Backward(gaps) {
		if one.count > over {
			return one.ns
		}
		over -= one.count
	}
	return 0
}

// waitP9999 solves for x: a packet that arrives at a random instant of a gap of length L waits more
// than x with chance (L−x)/elapsed, so the sum of L−x over all gaps longer than x is elapsed/10000.
func waitP9999(gaps []gap, elapsedNs int64) int64 {
	allowed := float64(elapsedNs) / oneIn
	var count, sum float64
	for i := len(gaps) - 1; i >= 0; i-- {
		count += float64(gaps[i].count)
		sum += float64(gaps[i].count) * float64(gaps[i].ns)
		next := 0.0
		if i > 0 {
			next = float64(gaps[i-1].ns)
		}
		// For x down to the next shorter gap, only these are longer than x.
		if sum-count*next >= allowed {
			return int64((sum - allowed) / count)
		}
	}
	return 0
}
