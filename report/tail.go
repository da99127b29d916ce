package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"nines.dev/nines/analysis/extreme"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// GroupTail is an estimate, from the slowest packets of a group's counted repeats, of a percentile
// for which there may be too few packets; times are nanoseconds.
type GroupTail struct {
	Variables map[string]any `json:"variables"`
	Trials    []string       `json:"trials"` // IDs of the repeats it uses
	extreme.Tail
}

// tailSeed is fixed, so that a result has the same tail every time.
const tailSeed = 1

// Tails estimates the percentile p, a fraction, for each group of a result. It concatenates the
// repeats of a group. It leaves out a trial whose files cannot be read, and names it in the
// problems. When ctx ends, it stops reading, and the missing answers are empty.
func Tails(ctx context.Context, r *result.Result, p float64) (tails []GroupTail, problems []error) {
	groups := Groups(r.Shown())
	tails = make([]GroupTail, len(groups))
	found := make([]error, len(groups))
	var work sync.WaitGroup
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, g := range groups {
		work.Add(1)
		places <- struct{}{}
		go func() {
			defer work.Done()
			tails[i], found[i] = tailOf(ctx, r, g, p)
			<-places
		}()
	}
	work.Wait()
	for _, err := range found {
		if err != nil {
			problems = append(problems, err)
		}
	}
	return tails, problems
}

func tailOf(ctx context.Context, r *result.Result, g Group, p float64) (GroupTail, error) {
	tail := GroupTail{Variables: g.Variables, Trials: []string{}}
	var samples []extreme.Sample
	var wrong []error
	for _, t := range g.Counted() {
		sample, err := sampleOf(ctx, t, r.TrialFolder(t.ID))
		if ctx.Err() != nil {
			return tail, nil
		}
		// Open has reported missing files.
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			wrong = append(wrong, err)
		}
		if sample.Total == 0 {
			continue
		}
		samples = append(samples, sample)
		tail.Trials = append(tail.Trials, t.ID)
	}
	tail.Tail = extreme.Of(extreme.Pool(samples...), extreme.Options{P: p, Seed: tailSeed})
	if g.Invalid() {
		tail.Refused = []string{"all its trials are invalid"}
	}
	return tail, errors.Join(wrong...)
}

// sampleOf reads a trial's slowest packets: from the recording of all packets, if there is one,
// with the threshold that it allows; or as many as outliers.csv has.
func sampleOf(ctx context.Context, t result.Trial, folder result.Folder) (extreme.Sample, error) {
	outliers, err := folder.Outliers()
	if err != nil {
		return extreme.Sample{}, err
	}
	points := make([]extreme.Point, len(outliers))
	spanNs := int64(0)
	if details, err := folder.Details(); err == nil {
		spanNs = details.DurationNs
	}
	for i, o := range outliers {
		points[i] = extreme.Point{Value: float64(o.LatencyNs), AtNs: o.IntendedNs}
		spanNs = max(spanNs, o.IntendedNs+1)
	}
	worst := extreme.FromWorst(points, t.Latency.Count, spanNs)
	blocks, err := folder.Blocks()
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return worst, err
	case blocks == nil:
		worst.Lacking = fmt.Sprintf("trial %s has no time blocks: an older nines measured it, or it is shorter than 2 ms", t.ID)
	default:
		worst.Blocks, worst.Lacking = [][]*result.Packed{blocks}, ""
	}
	all := extreme.NewCollector(t.Latency.Count)
	_, err = folder.Packets(func(packets []result.Packet) error {
		for _, p := range packets {
			if p.LatencyNs != nil {
				all.Add(float64(*p.LatencyNs), p.IntendedNs)
			}
		}
		return ctx.Err()
	})
	if errors.Is(err, fs.ErrNotExist) {
		return worst, nil
	}
	if err != nil {
		return worst, err
	}
	// An incomplete recording lacks packets from a busy moment, which matter most.
	if recorded := all.Sample(spanNs); recorded.Total == t.Latency.Count && len(recorded.Points) > len(worst.Points) {
		recorded.Blocks, recorded.Lacking = worst.Blocks, worst.Lacking
		return recorded, nil
	}
	return worst, nil
}

// PercentileName formats a fraction in the usual way: p99.99999.
func PercentileName(p float64) string {
	// Twelve digits show ten nines, and hide the error of binary fractions.
	return "p" + strconv.FormatFloat(math.Round(p*1e14)/1e12, 'f', -1, 64)
}

// WriteTails writes the answers for a terminal: what the packets support, what was requested, and
// why if there is no answer.
func WriteTails(w io.Writer, tails []GroupTail) error {
	if len(tails) == 0 {
		return nil
	}
	s := terminal.StyleOf(w)
	var out strings.Builder
	p := tails[0].P
	fmt.Fprintf(&out, "\n%s\n\n", s.Paint(terminal.Bold, fmt.Sprintf("What is the %s?", strings.TrimPrefix(PercentileName(p), "p")+"th percentile")))
	trials := make([]result.Trial, len(tails))
	for i, tail := range tails {
		trials[i].Variables = tail.Variables
	}
	variables := result.VariableNames(trials)
	short := shortNames(variables)
	t := &terminal.Table{}
	for _, name := range variables {
		if isNumeric(trials, name) {
			t.Numbers(terminal.Plain(short[name]), "")
		} else {
			t.Words(terminal.Plain(short[name]))
		}
	}
	t.Numbers("packets", "")
	t.Words("measured, µs")
	t.Words(PercentileName(p) + ", µs")
	t.Words("by")
	for _, tail := range tails {
		var cells []any
		for _, name := range variables {
			cells = append(cells, terminal.Plain(readable(tail.Variables[name])))
		}
		value, by := answerText(tail)
		t.Row(append(cells, terminal.Grouped(float64(tail.Total)), largestText(tail.Largest), value, by)...)
	}
	_ = t.Write(&out, s) // cannot fail
	writeRefusals(&out, s, tails)
	out.WriteString("\n" + terminal.Wrap("Measured: the largest percentile that this many packets support, with its 95 % interval by time blocks; it is open above where too few clusters of slow packets lie beyond. "+
		"Extrapolated: peaks over threshold, a generalised Pareto distribution of the slowest packets, tested and refused where it does not hold (docs/statistics.md).", 0, 0, s.Columns) + "\n")
	_, err := io.WriteString(w, out.String())
	return err
}

func microseconds(ns float64) string { return terminal.Significant(ns / 1000) }

// measuredText is a value with its interval, whose upper end may be open.
func measuredText(d *extreme.Direct) string {
	interval := terminal.None
	switch {
	case d.Low == nil:
	case d.High == nil:
		interval = microseconds(*d.Low) + ", open"
	default:
		interval = microseconds(*d.Low) + ", " + microseconds(*d.High)
	}
	return microseconds(d.Value) + " [" + interval + "]"
}

func largestText(d *extreme.Direct) string {
	if d == nil {
		return terminal.None
	}
	return PercentileName(d.P) + " " + measuredText(d)
}

// answerText is the answer: measured if the packets bound it, else extrapolated, else measured
// without a bound.
func answerText(t GroupTail) (value string, by terminal.Cell) {
	switch {
	case t.Asked != nil && (t.Asked.High != nil || t.Estimate == nil):
		return measuredText(t.Asked), terminal.Cell{Text: "measured"}
	case t.Estimate != nil:
		e := t.Estimate
		by := "extrapolated"
		if e.Beyond > 1 {
			by += fmt.Sprintf(" ×%s", terminal.Significant(e.Beyond))
		}
		return fmt.Sprintf("%s [%s, %s]", microseconds(e.Value), microseconds(e.Low), microseconds(e.High)), terminal.Cell{Text: by}
	}
	return terminal.None, terminal.Cell{Text: "refused", Colour: terminal.Dim}
}

// writeRefusals writes the reasons for what is missing, once for those that differ only in their numbers.
func writeRefusals(out *strings.Builder, s terminal.Style, tails []GroupTail) {
	var reasons classes
	for _, t := range tails {
		if d := t.Largest; d != nil && d.NoInterval != "" {
			reasons.add("", class{head: "no interval", colour: terminal.Dim, example: d.NoInterval, where: Describe(t.Variables)})
		}
		if t.Estimate != nil || t.Asked != nil && t.Asked.High != nil {
			continue
		}
		for _, reason := range t.Refused {
			reasons.add("", class{head: "refused", colour: terminal.Dim, example: reason, where: Describe(t.Variables)})
		}
	}
	if len(reasons.list) > 0 {
		out.WriteString("\n")
	}
	reasons.write(out, s, "line", "reason", "--format json has all")
}
