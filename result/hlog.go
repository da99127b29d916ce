package result

import (
	"cmp"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The three series in latency.hlog. The latency has no tag, because readers without tag support, or
// without a chosen tag, show the untagged series; files of earlier versions have a tag on it, too.
const (
	TagLatency = "latency"
	TagFromTx  = "from_tx"
	TagSendLag = "send_lag"
)

// series lists the histograms with their tags, in file order.
func (h *Histograms) series() []struct {
	tag       string
	histogram **Histogram
} {
	return []struct {
		tag       string
		histogram **Histogram
	}{{TagLatency, &h.Latency}, {TagFromTx, &h.FromTx}, {TagSendLag, &h.SendLag}}
}

// span is when a trial's measured packets were sent.
type span struct {
	start    time.Time
	duration time.Duration
}

// seriesOf returns the series for a tag in latency.hlog.
func seriesOf(tag string) string { return cmp.Or(tag, TagLatency) }

// writeHlog writes an HdrHistogram log with one interval per series. Interval_Max is in
// milliseconds, as the format requires.
func writeHlog(w io.Writer, histograms Histograms, when span) error {
	var intervals []Interval
	for _, s := range histograms.series() {
		if *s.histogram != nil {
			tag := s.tag
			if tag == TagLatency {
				tag = ""
			}
			intervals = append(intervals, Interval{Tag: tag, Start: when.start, Length: when.duration, Histogram: *s.histogram})
		}
	}
	return WriteLog(w, []string{
		"nines: latency of one trial; values are nanoseconds, times seconds, Interval_Max milliseconds",
		"nines: without a tag: receive - intended send; Tag=from_tx is receive - actual send, send_lag actual - intended send",
	}, intervals)
}

// readHlog reads the series and merges intervals of the same tag, so it can also read a log with
// one line per second. A log has no exact extremes; the caller takes them from the summary.
func readHlog(raw []byte) (Histograms, error) {
	var out Histograms
	err := eachInterval(raw, func(counts *hdrhistogram.Histogram) {
		for _, s := range out.series() {
			switch {
			case s.tag != seriesOf(counts.Tag()):
			case *s.histogram == nil:
				*s.histogram = fromLog(counts)
			default:
				(*s.histogram).Merge(fromLog(counts))
			}
		}
	})
	return out, err
}

// exact replaces a log's rounded figures by the summary's exact ones.
func (h *Histogram) exact(p Percentiles) {
	if h == nil || p.Min == nil || p.Max == nil || p.Mean == nil || p.Count != h.Count() {
		return
	}
	h.min, h.max, h.sum = *p.Min, *p.Max, *p.Mean*float64(p.Count)
}
