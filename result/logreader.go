package result

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// readLog reads an HdrHistogram log line by line. The library's reader takes memory for the whole range of each
// line's histogram, and looks through it four times: a result of a thousand trials has a hundred thousand lines.
func readLog(raw []byte) ([]Interval, error) {
	var intervals []Interval
	var at logTime
	number := 0
	for line := range strings.Lines(string(raw)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, `"`) { // the legend
			continue
		}
		if comment, is := strings.CutPrefix(line, "#"); is {
			at.comment(comment)
			continue
		}
		interval, err := at.interval(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		intervals = append(intervals, interval)
	}
	return intervals, nil
}

// logTime is what a log has said about its times, in seconds since 1970.
type logTime struct {
	start, base       float64
	hasStart, hasBase bool
}

// comment takes "[StartTime: 1763663405.250 (seconds since epoch), …]" and BaseTime.
func (t *logTime) comment(text string) {
	for _, one := range []struct {
		name string
		to   *float64
		has  *bool
	}{{"[StartTime: ", &t.start, &t.hasStart}, {"[BaseTime: ", &t.base, &t.hasBase}} {
		if rest, is := strings.CutPrefix(text, one.name); is {
			number, _, _ := strings.Cut(rest, " ")
			if seconds, err := strconv.ParseFloat(number, 64); err == nil {
				*one.to, *one.has = seconds, true
			}
		}
	}
}

// year is how far before StartTime a line's time is relative to it if the log has no BaseTime (HdrHistogram's
// HistogramLogReader).
const year = 365 * 24 * 3600.0

// interval takes "Tag=NAME,start,length,max,histogram", or the same without a tag.
func (t *logTime) interval(line string) (Interval, error) {
	var interval Interval
	if rest, is := strings.CutPrefix(line, "Tag="); is {
		interval.Tag, line, _ = strings.Cut(rest, ",")
	}
	fields := strings.SplitN(line, ",", 4)
	if len(fields) != 4 {
		return interval, fmt.Errorf("it has %d fields, not the 4 of an interval", len(fields))
	}
	from, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return interval, err
	}
	length, err := strconv.ParseFloat(fields[1], 64)
	if err != nil {
		return interval, err
	}
	if !t.hasStart {
		t.start, t.hasStart = from, true
	}
	if !t.hasBase {
		t.hasBase = true
		if from < t.start-year {
			t.base = t.start
		}
	}
	if interval.Start, err = logMoment(t.base + from); err != nil {
		return interval, err
	}
	end, err := logMoment(t.base + from + length)
	if err != nil {
		return interval, err
	}
	interval.Length = end.Sub(interval.Start)
	interval.Histogram, err = decodePacked(fields[3])
	return interval, err
}

// logMoment is a time of a log, which counts in milliseconds.
func logMoment(seconds float64) (time.Time, error) {
	if !(math.Abs(seconds) < 1e11) {
		return time.Time{}, fmt.Errorf("the time %g s is none", seconds)
	}
	return time.UnixMilli(int64(math.Round(seconds * 1000))).UTC(), nil
}

// decodePacked reads a histogram of any range; it refuses one with samples beyond ours.
func decodePacked(encoded string) (*Packed, error) {
	counts, err := hdrhistogram.DecodePacked([]byte(encoded))
	if err != nil {
		return nil, fmt.Errorf("read a histogram: %w", err)
	}
	p := newPacked()
	if counts.LowestTrackableValue() == LowestNs && counts.HighestTrackableValue() == HighestNs && counts.SignificantFigures() == SignificantDigits {
		return &Packed{counts}, nil
	}
	if dropped := p.counts.Merge(counts); dropped > 0 {
		return nil, fmt.Errorf("read a histogram: %d of its samples are beyond %d ns, or too many", dropped, HighestNs)
	}
	return p, nil
}
