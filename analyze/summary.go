package analyze

import (
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
	// Latency is exact: the percentiles of the published evaluation.
	Latency result.Percentiles `json:"latency_ns"`
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
		LostByCounts: int64(a.Pre.Packets) - int64(a.Post.Packets), Latency: a.latency(), Clocks: a.Clocks, ClocksSay: a.Clocks.Sentences(), Notes: a.Notes(),
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

// latency picks the named percentiles from the published ones, which include them all.
func (a *Analysis) latency() result.Percentiles {
	exact := make(map[float64]int64, len(a.Percentiles))
	for i, p := range PublishedPercentiles() {
		exact[p.P] = a.Percentiles[i]
	}
	sum := 0.0
	if a.first.Count > 0 {
		sum = a.first.Sum / float64(a.first.Count)
	}
	return result.MakePercentiles(a.Evaluation.Pairs, a.Percentiles[0], a.Worst[0].LatencyNs, sum, func(p result.Percentile) int64 { return exact[p.P] })
}
