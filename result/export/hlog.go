package export

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/result"
)

// HlogOptions says what goes into a log.
type HlogOptions struct {
	// Series are the tags to write: result.TagLatency and so on; none means all.
	Series []string
	// Merge adds up all intervals of a series and combination of variables, so that
	// each has one line: the repeats as one measurement.
	Merge bool
}

// WriteHlog writes an HdrHistogram log of several trials: a line for each trial and
// series, at the time of the trial, or several where a long trial has an interval a
// minute. A tag is the series, followed by the variables' values where the trials
// differ in them: readers add up what has the same tag.
func WriteHlog(w io.Writer, r *result.Result, trials []result.Trial, options HlogOptions) error {
	var intervals []result.Interval
	names := differing(trials)
	for _, t := range trials {
		read, err := r.TrialFolder(t.ID).Intervals()
		if err != nil {
			return err
		}
		for _, interval := range read {
			if len(options.Series) > 0 && !slices.Contains(options.Series, interval.Tag) {
				continue
			}
			interval.Tag += tagOf(t, names)
			intervals = append(intervals, interval)
		}
	}
	slices.SortStableFunc(intervals, func(a, b result.Interval) int { return a.Start.Compare(b.Start) })
	if options.Merge {
		intervals = merge(intervals)
	}
	return result.WriteLog(w, []string{
		fmt.Sprintf("nines: %s, started %s; values are nanoseconds, times seconds, Interval_Max milliseconds",
			r.Summary.Name, r.Summary.Started.UTC().Format(time.RFC3339)),
		"nines: latency is receive - intended send, from_tx receive - actual send, send_lag actual - intended send",
	}, intervals)
}

// differing are the variables that do not have one value in all trials.
func differing(trials []result.Trial) []string {
	return slices.DeleteFunc(result.VariableNames(trials), func(name string) bool {
		first := result.FormatVariable(trials[0].Variables[name])
		return !slices.ContainsFunc(trials, func(t result.Trial) bool { return result.FormatVariable(t.Variables[name]) != first })
	})
}

// tagOf is ";links.in.kind=veth;traffic.rate_pps=1000".
func tagOf(t result.Trial, names []string) string {
	var tag strings.Builder
	for _, name := range names {
		fmt.Fprintf(&tag, ";%s=%s", name, result.FormatVariable(t.Variables[name]))
	}
	return tag.String()
}

// merge adds up the intervals of each tag; the sum lasts from the first to the end of
// the last.
func merge(intervals []result.Interval) []result.Interval {
	var merged []result.Interval
	at := map[string]int{}
	for _, interval := range intervals {
		i, known := at[interval.Tag]
		if !known {
			at[interval.Tag] = len(merged)
			merged = append(merged, interval)
			continue
		}
		m := &merged[i]
		m.Length = max(m.Length, interval.Start.Add(interval.Length).Sub(m.Start)) // sorted by start
		m.Histogram.Merge(interval.Histogram)
	}
	return merged
}
