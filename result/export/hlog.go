package export

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/result"
)

// HlogOptions select the content of a log.
type HlogOptions struct {
	// Series are the tags to write, such as result.TagLatency; none means all.
	Series []string
	// Merge adds up all trials of a combination of variables, so that each series has one line: the
	// repeats become one measurement.
	Merge bool
	// Blocks keeps a line for each time block of a trial.
	Blocks bool
}

// WriteHlog writes an HdrHistogram log of several trials: a line for each trial and series, at the
// time of the trial. A tag is the series, followed by the values of the variables that differ between
// trials: readers add up lines with equal tags.
func WriteHlog(w io.Writer, r *result.Result, trials []result.Trial, options HlogOptions, progress Progress) error {
	names := differing(trials)
	ordered := inTime(r, trials)
	start := r.Summary.Started
	if len(ordered) > 0 {
		start = ordered[0].start
	}
	log, err := result.NewLogWriter(w, []string{
		fmt.Sprintf("nines: %s, started %s; values are nanoseconds, times seconds, Interval_Max milliseconds",
			r.Summary.Name, r.Summary.Started.UTC().Format(time.RFC3339)),
		"nines: latency is receive - intended send, from_tx receive - actual send, send_lag actual - intended send",
	}, start)
	if err != nil {
		return err
	}
	sums := newMerger()
	for i, t := range ordered {
		progress.tell(i, len(ordered))
		intervals, err := r.TrialFolder(t.trial.ID).Intervals()
		if err != nil {
			return err
		}
		if !options.Merge {
			sums = newMerger()
		}
		for _, interval := range intervals {
			if len(options.Series) > 0 && !slices.Contains(options.Series, interval.Tag) {
				continue
			}
			interval.Tag += tagOf(t.trial, names)
			write := sums.add
			if options.Blocks {
				write = log.Write
			}
			if err := write(interval); err != nil {
				return err
			}
		}
		if last := i == len(ordered)-1; !options.Merge || last {
			if err := sums.write(log); err != nil {
				return err
			}
		}
	}
	return nil
}

// timed is a trial and the start of its log.
type timed struct {
	trial result.Trial
	start time.Time
}

// inTime sorts trials by start, as in their logs; an unknown start is that of the run.
func inTime(r *result.Result, trials []result.Trial) []timed {
	ordered := make([]timed, len(trials))
	for i, t := range trials {
		ordered[i] = timed{t, r.Summary.Started}
		if details, err := r.TrialFolder(t.ID).Details(); err == nil && details.StartedUnixNs != 0 {
			ordered[i].start = time.Unix(0, details.StartedUnixNs)
		}
	}
	slices.SortStableFunc(ordered, func(a, b timed) int { return a.start.Compare(b.start) })
	return ordered
}

// differing returns the variables with more than one value in the trials.
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

// merger adds up the intervals of each tag; a sum lasts from the start of the first to the end of
// the last.
type merger struct {
	sums []result.Interval
	at   map[string]int
}

func newMerger() merger { return merger{at: map[string]int{}} }

func (m *merger) add(interval result.Interval) error {
	i, known := m.at[interval.Tag]
	if !known {
		m.at[interval.Tag] = len(m.sums)
		m.sums = append(m.sums, interval)
		return nil
	}
	sum := &m.sums[i]
	sum.Length = max(sum.Length, interval.Start.Add(interval.Length).Sub(sum.Start)) // in time order
	return sum.Histogram.Merge(interval.Histogram)
}

// write writes a line for each tag.
func (m *merger) write(log *result.LogWriter) error {
	for _, sum := range m.sums {
		if err := log.Write(sum); err != nil {
			return err
		}
	}
	return nil
}
