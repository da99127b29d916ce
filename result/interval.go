package result

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nines.dev/nines/terminal"
)

// Interval is one line of an HdrHistogram log: the measurements in a stretch of time.
type Interval struct {
	// Tag names the series; WriteLog replaces what a tag may not contain.
	Tag       string
	Start     time.Time
	Length    time.Duration
	Histogram *Packed
}

// Intervals reads latency.hlog unmerged, with the untagged series as latency, which has an interval for each time
// block. Histograms merges them.
func (f Folder) Intervals() ([]Interval, error) {
	raw, err := f.read(HlogFile)
	if err != nil {
		return nil, err
	}
	intervals, err := readLog(raw)
	if err != nil {
		return nil, f.broken(HlogFile, err)
	}
	for i := range intervals {
		intervals[i].Tag = seriesOf(intervals[i].Tag)
	}
	return intervals, nil
}

// LogWriter writes an HdrHistogram V2 log in format 1.3 of HdrHistogram's HistogramLogWriter, one
// interval at a time. Values are nanoseconds.
type LogWriter struct {
	out     io.Writer
	startMs int64
}

// NewLogWriter writes the header of a log. Times count from start, which the log has as BaseTime
// and StartTime.
func NewLogWriter(w io.Writer, comments []string, start time.Time) (*LogWriter, error) {
	log := hdrhistogram.NewHistogramLogWriter(w)
	startMs := start.UnixMilli()
	// The library writes these two times without fractions of a second.
	seconds := fmt.Sprintf("%d.%03d", startMs/1000, startMs%1000)
	lines := make([]string, 0, len(comments)+3)
	for _, comment := range comments {
		lines = append(lines, "["+oneLine(comment)+"]")
	}
	for _, line := range append(lines,
		fmt.Sprintf("[Histogram log format version %s]", hdrhistogram.HISTOGRAM_LOG_FORMAT_VERSION),
		fmt.Sprintf("[StartTime: %s (seconds since epoch), %s]", seconds, start.UTC().Format(time.RFC3339Nano)),
		fmt.Sprintf("[BaseTime: %s (seconds since epoch)]", seconds),
	) {
		if err := log.OutputComment(line); err != nil {
			return nil, err
		}
	}
	return &LogWriter{w, startMs}, log.OutputLegend()
}

// Write adds one line.
func (l *LogWriter) Write(interval Interval) error {
	encoded, err := interval.Histogram.Encode()
	if err != nil {
		return fmt.Errorf("series %s: %w", cmp.Or(interval.Tag, "without a tag"), err)
	}
	tag := ""
	if interval.Tag != "" {
		tag = "Tag=" + logTag(interval.Tag) + ","
	}
	start := l.seconds(interval.Start)
	// From both ends, so that blocks of a fraction of a millisecond follow each other without gaps.
	length := l.seconds(interval.Start.Add(interval.Length)) - start
	most := float64(interval.Histogram.counts.Max()) / hdrhistogram.MsToNsRatio
	_, err = fmt.Fprintf(l.out, "%s%f,%f,%f,%s\n", tag, start, length, most, encoded)
	return err
}

// seconds of a time since the start of the log.
func (l *LogWriter) seconds(t time.Time) float64 { return float64(t.UnixMilli()-l.startMs) / 1000 }

// WriteLog writes a log of some intervals in the given order. Times count from the earliest.
func WriteLog(w io.Writer, comments []string, intervals []Interval) error {
	start := time.Unix(0, 0)
	for i, interval := range intervals {
		if i == 0 || interval.Start.Before(start) {
			start = interval.Start
		}
	}
	log, err := NewLogWriter(w, comments, start)
	if err != nil {
		return err
	}
	for _, interval := range intervals {
		if err := log.Write(interval); err != nil {
			return err
		}
	}
	return nil
}

// logTag replaces what would end a tag: the format has no quoting.
func logTag(tag string) string {
	return strings.Map(func(r rune) rune {
		if r == ',' || r == ' ' || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, tag)
}

func oneLine(text string) string {
	return terminal.Plain(strings.NewReplacer("\n", " ", "\r", " ").Replace(text))
}

// Encode returns the histogram in HdrHistogram's compressed V2 encoding, in base64.
func (h *Histogram) Encode() (string, error) {
	encoded, err := h.counts.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	return string(encoded), err
}

// DecodeHistogram reads what Encode has written. Minimum, maximum and sum are as exact as the buckets.
func DecodeHistogram(encoded string) (*Histogram, error) {
	counts, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		return nil, fmt.Errorf("read a histogram: %w", err)
	}
	// Another range has other buckets: added to one of ours, its samples would move or be lost.
	if counts.LowestTrackableValue() != LowestNs || counts.HighestTrackableValue() != HighestNs || counts.SignificantFigures() != SignificantDigits {
		return nil, fmt.Errorf("read a histogram: it is of %d to %d ns with %d digits, and nines writes %d to %d ns with %d",
			counts.LowestTrackableValue(), counts.HighestTrackableValue(), counts.SignificantFigures(), LowestNs, HighestNs, SignificantDigits)
	}
	return &Histogram{counts: counts, min: counts.Min(), max: counts.Max(), sum: counts.Mean() * float64(counts.TotalCount())}, nil
}
