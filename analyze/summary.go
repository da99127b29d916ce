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
	OffsetNs int64 `json:"offset_ns"`
	// FollowClock is true if what the clocks move against each other was to be taken off.
	FollowClock bool `json:"follow_clock"`
	// ResolutionNs is the step of the times. Each latency is right to ± this.
	ResolutionNs int64 `json:"resolution_ns"`
	// Of the packets that pass PRE first.
	DirectionSummary
	// Back is of the packets that pass POST first; nil if all go in one direction.
	Back *DirectionSummary `json:"back,omitempty"`
	// TwoWay is what packets in both directions tell about the clocks.
	TwoWay *clock.Offset `json:"clock_offset,omitempty"`
	// Changes are what differs between the captures of the same packet, by a sample.
	Changes []Change `json:"changes,omitempty"`
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

// DirectionSummary is the summary of the packets that pass the two points in one order.
type DirectionSummary struct {
	From        string `json:"from"`
	To          string `json:"to"`
	FromPackets uint64 `json:"from_packets"`
	ToPackets   uint64 `json:"to_packets"`
	Counts      Counts `json:"counts"`
	// Segmented are the flows whose packets segmentation offload cuts or joins between the captures.
	Segmented []Segmented `json:"segmented,omitempty"`
	// LostByCounts is the packets in From minus those in To: negative if To has more.
	LostByCounts int64 `json:"lost_by_counts"`
	// LossRatio covers packets with unique keys.
	LossRatio float64 `json:"loss_ratio"`
	// Latency is exact. It is that of each packet's first arrival, as in the result folder.
	Latency result.Percentiles `json:"latency_ns"`
	// AllArrivals is the exact latency of all pairs, as in the published files; nil if no packet
	// arrived more than once, which makes it the same.
	AllArrivals *result.Percentiles `json:"latency_of_all_arrivals_ns,omitempty"`
}

// Summary returns the summary.
func (a *Analysis) Summary() Summary {
	s := Summary{
		Schema: SummarySchema, Key: a.Options.Key, Pre: summarise(a.Pre), Post: summarise(a.Post),
		TrimNs: a.trimNs, OffsetNs: a.Options.Offset.Nanoseconds(), FollowClock: a.Options.FollowClock, ResolutionNs: a.TickNs, DirectionSummary: a.Direction.summary(),
		TwoWay: a.Offset, Changes: a.Changes, Clocks: a.Clocks, ClocksSay: a.clocksSay(), Notes: a.Notes(),
	}
	if a.Back != nil {
		back := a.Back.summary()
		s.Back = &back
	}
	if s.Verdict, s.Reasons = a.verdict(); s.Reasons == nil {
		s.Reasons = []string{}
	}
	return s
}

func (d *Direction) summary() DirectionSummary {
	return DirectionSummary{
		From: d.From, To: d.To, FromPackets: uint64(d.pre.count), ToPackets: uint64(d.post.count), Counts: d.Counts, Segmented: d.Segmented,
		LostByCounts: d.pre.packets() - int64(d.Counts.PreCopies) - d.post.packets(), LossRatio: d.lossRatio(), Latency: d.latency(), AllArrivals: d.allArrivals(),
	}
}

func summarise(s Source) CaptureSummary {
	c := CaptureSummary{
		Path: s.Path, Format: string(s.Info.Format), Compression: string(s.Info.Compression), LinkType: s.Info.LinkType.String(),
		Packets: s.Packets, FirstNs: s.FirstNs, LastNs: s.LastNs, FrameBytes: s.FrameBytes, Backwards: s.Seen.Backwards,
	}
	if span := c.LastNs - c.FirstNs; span > 0 {
		c.PPS = float64(s.Packets-1) / float64(span) * float64(time.Second)
	}
	if s.Damage != nil {
		c.Damage = s.Damage.String()
	}
	return c
}

// named picks the named percentiles from the published ones, which include them all.
func named(published []int64) func(result.Percentile) int64 {
	return func(named result.Percentile) int64 {
		return published[slices.IndexFunc(PublishedPercentiles(), func(p PublishedPercentile) bool { return p.P == named.P })]
	}
}
