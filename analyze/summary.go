package analyze

import (
	"slices"
	"time"

	"nines.dev/nines/analyze/clock"
	"nines.dev/nines/result"
)

// SummarySchema names the JSON format of a summary.
const SummarySchema = "nines/analysis/v1"

// Summary is the summary of an evaluated pair.
type Summary struct {
	Schema string         `json:"schema"`
	Key    Key            `json:"key"`
	Pre    CaptureSummary `json:"pre"`
	Post   CaptureSummary `json:"post"`
	TrimNs int64          `json:"trim_ns"`
	// OffsetNs was added to POST's times on request.
	OffsetNs int64  `json:"offset_ns"`
	Counts   Counts `json:"counts"`
	// LostByCounts is the packets in PRE minus those in POST: negative if POST has more.
	LostByCounts int64 `json:"lost_by_counts"`
	// LossRatio covers packets with unique keys.
	LossRatio float64 `json:"loss_ratio"`
	// Latency is exact. It is that of each packet's first arrival, as in the result folder.
	Latency result.Percentiles `json:"latency_ns"`
	// AllArrivals is the exact latency of all pairs, as in the published files; nil if no packet
	// arrived more than once, which makes it the same.
	AllArrivals *result.Percentiles `json:"latency_of_all_arrivals_ns,omitempty"`
	// Clocks is what can be said of them. Nothing is corrected by it.
	Clocks    clock.Estimate `json:"clocks"`
	ClocksSay []string       `json:"clocks_say"`
	Verdict   result.Verdict `json:"verdict"`
	Reasons   []string       `json:"reasons"`
	Notes     []string       `json:"notes"`
	// Files and Result are the paths written: the published files, and a result folder.
	Files  []string `json:"files,omitempty"`
	Result string   `json:"result,omitempty"`
}

// CaptureSummary is one of the two captures.
type CaptureSummary struct {
	Path        string  `json:"path"`
	Format      string  `json:"format"`
	Compression string  `json:"compression,omitempty"`
	LinkType    string  `json:"link_type"`
	Packets     uint64  `json:"packets"`
	FirstNs     int64   `json:"first_ns"`
	LastNs      int64   `json:"last_ns"`
	PPS         float64 `json:"pps"`
	FrameBytes  int     `json:"frame_bytes,omitempty"` // without FCS; absent if they differ
	// Backwards is how often times go backwards.
	Backwards uint64 `json:"backwards"`
	Damage    string `json:"damage,omitempty"`
}

// Summary returns the summary.
func (a *Analysis) Summary() Summary {
	s := Summary{
		Schema: SummarySchema, Key: a.Options.Key, Pre: summarise(a.Pre, a.pre.timesNs()), Post: summarise(a.Post, a.post.timesNs()),
		TrimNs: a.trimNs, OffsetNs: a.Options.Offset.Nanoseconds(), Counts: a.Counts,
		LostByCounts: int64(a.Pre.Packets) - int64(a.Post.Packets), Latency: a.latency(), AllArrivals: a.allArrivals(), Clocks: a.Clocks, ClocksSay: a.Clocks.Sentences(), Notes: a.Notes(),
	}
	if known := a.Pre.Packets - a.Counts.PreAmbiguous - a.Counts.PreUnkeyed; known > 0 {
		s.LossRatio = float64(a.Counts.Lost) / float64(known)
	}
	if s.Verdict, s.Reasons = a.verdict(); s.Reasons == nil {
		s.Reasons = []string{}
	}
	return s
}

func summarise(s Source, times []int64) CaptureSummary {
	c := CaptureSummary{
		Path: s.Path, Format: string(s.Info.Format), Compression: string(s.Info.Compression), LinkType: s.Info.LinkType.String(),
		Packets: s.Packets, FirstNs: times[0], LastNs: times[len(times)-1], FrameBytes: s.FrameBytes, Backwards: s.Seen.Backwards,
	}
	if span := c.LastNs - c.FirstNs; span > 0 {
		c.PPS = float64(s.Packets-1) / float64(span) * float64(time.Second)
	}
	if s.Damage != nil {
		c.Damage = s.Damage.String()
	}
	return c
}

// latency is that of the first arrivals. A trim may leave none of them.
func (a *Analysis) latency() result.Percentiles {
	first := a.first
	return result.MakePercentiles(first.Count, first.Min, first.Max, first.Sum/float64(max(first.Count, 1)), named(a.firstPercentiles))
}

func (a *Analysis) allArrivals() *result.Percentiles {
	if a.Evaluation.Pairs == a.first.Count {
		return nil
	}
	all := result.MakePercentiles(a.Evaluation.Pairs, a.Percentiles[0], a.Worst[0].LatencyNs, a.sumNs/float64(a.Evaluation.Pairs), named(a.Percentiles))
	return &all
}

// named picks the named percentiles from the published ones, which include them all.
func named(published []int64) func(result.Percentile) int64 {
	return func(named result.Percentile) int64 {
		return published[slices.IndexFunc(PublishedPercentiles(), func(p PublishedPercentile) bool { return p.P == named.P })]
	}
}
