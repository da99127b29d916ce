package result

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The tags of the three series in latency.hlog.
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

// writeHlog writes an HdrHistogram V2 log with one tagged interval a series, in
// the format 1.3 of HdrHistogram's HistogramLogWriter. Values are nanoseconds;
// Interval_Max is milliseconds, as that format has it.
func writeHlog(w io.Writer, histograms Histograms, when span) error {
	log := hdrhistogram.NewHistogramLogWriter(w)
	startMs := when.start.UnixMilli()
	// The library writes these two stamps without their fraction of a second.
	seconds := fmt.Sprintf("%d.%03d", startMs/1000, startMs%1000)
	for _, line := range []string{
		"[nines: latency of one trial; values are nanoseconds, times seconds, Interval_Max milliseconds]",
		"[nines: Tag=latency is receive - intended send, from_tx receive - actual send, send_lag actual - intended send]",
		fmt.Sprintf("[Histogram log format version %s]", hdrhistogram.HISTOGRAM_LOG_FORMAT_VERSION),
		fmt.Sprintf("[StartTime: %s (seconds since epoch), %s]", seconds, when.start.UTC().Format(time.RFC3339Nano)),
		fmt.Sprintf("[BaseTime: %s (seconds since epoch)]", seconds),
	} {
		if err := log.OutputComment(line); err != nil {
			return err
		}
	}
	if err := log.OutputLegend(); err != nil {
		return err
	}
	log.SetBaseTime(startMs)
	for _, s := range histograms.series() {
		if *s.histogram == nil {
			continue
		}
		counts := (*s.histogram).counts.Clone()
		counts.SetTag(s.tag)
		counts.SetStartTimeMs(startMs)
		counts.SetEndTimeMs(startMs + when.duration.Milliseconds())
		if err := log.OutputIntervalHistogram(counts); err != nil {
			return fmt.Errorf("series %s: %w", s.tag, err)
		}
	}
	return nil
}

// readHlog reads the series back and merges intervals of the same tag, so that a
// log with one line a second is read as well. Exact extremes are not in a log;
// the caller has them from the summary.
func readHlog(raw []byte) (Histograms, error) {
	var out Histograms
	reader := hdrhistogram.NewHistogramLogReader(bytes.NewReader(raw))
	for {
		counts, err := reader.NextIntervalHistogram()
		if err != nil {
			return out, err
		}
		if counts == nil {
			return out, nil
		}
		for _, s := range out.series() {
			if s.tag != counts.Tag() {
				continue
			}
			read := &Histogram{counts: counts, min: counts.Min(), max: counts.Max(),
				sum: counts.Mean() * float64(counts.TotalCount())}
			if *s.histogram == nil {
				*s.histogram = read
			} else {
				(*s.histogram).Merge(read)
			}
		}
	}
}

// exact puts the summary's exact figures in the place of a log's rounded ones.
func (h *Histogram) exact(p Percentiles) {
	if h == nil || p.Min == nil || p.Max == nil || p.Mean == nil || p.Count != h.Count() {
		return
	}
	h.min, h.max, h.sum = *p.Min, *p.Max, *p.Mean*float64(p.Count)
}
