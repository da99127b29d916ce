package result

import (
	"cmp"
	"io"
	"time"
)

// The series in latency.hlog. The latency has no tag, because readers without tag support, or
// without a chosen tag, show the untagged series; files of earlier versions have a tag on it, too.
const (
	TagLatency = "latency"
	TagFromTx  = "from_tx"
	TagSendLag = "send_lag"
	// TagUndisturbed is of trials in which it is known.
	TagUndisturbed = "undisturbed"
)

// series lists the histograms with their tags, in file order.
func (h *Histograms) series() []struct {
	tag       string
	histogram **Histogram
} {
	return []struct {
		tag       string
		histogram **Histogram
	}{{TagLatency, &h.Latency}, {TagFromTx, &h.FromTx}, {TagSendLag, &h.SendLag}, {TagUndisturbed, &h.Undisturbed}}
}

// missing names a series that every trial has, but this one has not; empty if it has them all.
func (h *Histograms) missing() string {
	for _, s := range h.series() {
		if *s.histogram == nil && s.tag != TagUndisturbed {
			return s.tag
		}
	}
	return ""
}

// span is when a trial's measured packets were sent.
type span struct {
	start    time.Time
	duration time.Duration
}

// seriesOf returns the series for a tag in latency.hlog.
func seriesOf(tag string) string { return cmp.Or(tag, TagLatency) }

// Blocks are the latencies of a trial by the time of their arrival, in consecutive blocks of equal length. Their
// differences show how many of the packets are independent of each other. Together they are the whole.
type Blocks struct {
	Length time.Duration
	Counts []*Packed
}

// count is the number of packets in all of them.
func (b *Blocks) count() uint64 {
	var sum uint64
	for _, counts := range b.Counts {
		sum += counts.Count()
	}
	return sum
}

// intervals returns the blocks of a trial with their times, untagged. The last one has what arrived in the drain.
func (b *Blocks) intervals(start time.Time) []Interval {
	var intervals []Interval
	for i, counts := range b.Counts {
		from := time.Duration(i) * b.Length
		intervals = append(intervals, Interval{Start: start.Add(from), Length: b.Length, Histogram: counts})
	}
	return intervals
}

// writeHlog writes an HdrHistogram log with one interval per series, or for the latency one per block. Interval_Max
// is in milliseconds, as the format requires.
func writeHlog(w io.Writer, histograms Histograms, blocks *Blocks, when span) error {
	var intervals []Interval
	for _, s := range histograms.series() {
		switch {
		case *s.histogram == nil:
		case s.tag != TagLatency:
			intervals = append(intervals, Interval{Tag: s.tag, Start: when.start, Length: when.duration, Histogram: (*s.histogram).Packed()})
		case blocks != nil:
			intervals = append(intervals, blocks.intervals(when.start)...)
		default:
			intervals = append(intervals, Interval{Start: when.start, Length: when.duration, Histogram: (*s.histogram).Packed()})
		}
	}
	comments := []string{
		"nines: latency of one trial; values are nanoseconds, times seconds, Interval_Max milliseconds",
		"nines: without a tag: receive - intended send; Tag=from_tx is receive - actual send, send_lag actual - intended send",
	}
	if histograms.Undisturbed != nil {
		comments = append(comments, "nines: Tag=undisturbed is the latency without the host's interruptions, each packet counted by how many it stands for")
	}
	if blocks != nil {
		comments = append(comments, "nines: the lines without a tag are blocks of time, whose sum is the trial")
	}
	return WriteLog(w, comments, intervals)
}

// sumLog adds up the intervals of each series. A log has no exact extremes; the caller takes them from the summary.
func sumLog(intervals []Interval) (Histograms, error) {
	var out Histograms
	for _, interval := range intervals {
		for _, s := range out.series() {
			if s.tag != seriesOf(interval.Tag) {
				continue
			}
			if *s.histogram == nil {
				*s.histogram = NewHistogram()
			}
			if err := (*s.histogram).add(interval.Histogram); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// exact replaces a log's rounded figures by the summary's exact ones.
func (h *Histogram) exact(p Percentiles) {
	if h == nil || p.Min == nil || p.Max == nil || p.Mean == nil || p.Count != h.Count() {
		return
	}
	h.min, h.max, h.sum = *p.Min, *p.Max, *p.Mean*float64(p.Count)
}
