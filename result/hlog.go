package result

import (
	"cmp"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The three series in latency.hlog. The latency is written without a tag, for it is what
// readers that know nothing of tags, or are not told one, show; files of earlier versions
// have a tag on it, too.
const (
	TagLatency = "latency"
	TagFromTx  = "from_tx"
	TagSendLag = "send_lag"
)

// series lists the histograms under their tags, in the file's order.
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

// seriesOf is the series of a tag in latency.hlog.
func seriesOf(tag string) string { return cmp.Or(tag, TagLatency) }

// writeHlog writes an HdrHistogram log with one interval a series.
// Interval_Max is milliseconds, as that format has it.
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

// readHlog reads the series back and merges intervals of the same tag, so that a
// log with one line a second is read as well. Exact extremes are not in a log;
// the caller has them from the summary.
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

// exact puts the summary's exact figures in the place of a log's rounded ones.
func (h *Histogram) exact(p Percentiles) {
	if h == nil || p.Min == nil || p.Max == nil || p.Mean == nil || p.Count != h.Count() {
		return
	}
	h.min, h.max, h.sum = *p.Min, *p.Max, *p.Mean*float64(p.Count)
}
