package figure

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// Of makes a figure from results and published files. Several results need labels.
func Of(inputs []Input, o Options) (*Figure, error) {
	if o.Repeats == "" {
		o.Repeats = RepeatsAuto
	}
	if o.Percentile == "" {
		o.Percentile = "p99"
	}
	f, err := build(inputs, o)
	if !errors.Is(err, errNothing) {
		return f, err
	}
	var others []string
	for _, kind := range Kinds() {
		other := o
		if other.Kind = kind; kind == o.Kind {
			continue
		}
		// A kind with too many curves also has data.
		if _, err := build(inputs, other); exit.Code(err) == exit.Done || exit.Code(err) == exit.Wrong {
			others = append(others, string(kind))
		}
	}
	reason := fmt.Sprintf("there is nothing to draw for the figure %s: %s", o.Kind, needs[o.Kind])
	if len(others) > 0 {
		reason += "; there is data for " + strings.Join(others, ", ")
	}
	return nil, exit.Wrongf("%s", reason)
}

// needs says what data a kind needs.
var needs = map[Kind]string{
	HDR:        "it needs trials in which packets arrived, or a percentiles file (--published)",
	Histogram:  "it needs trials in which packets arrived, or a histogram file (--published)",
	Intervals:  "it needs trials whose packets were recorded (traffic.packets: record)",
	Worst:      "it needs the trials' outliers.csv (traffic.outliers above 0), or a worst-of file (--published)",
	Jitter:     "it needs the trials' interruptions.parquet, or a result of 'nines trace jitter'",
	Rate:       "it needs the trials' rate.csv, or a packet rate file (--published)",
	Loss:       "it needs trials at two rates or more, or a search for the frame loss rate",
	Throughput: "it needs trials at two rates or more, trials at rate 0, or a search for the throughput",
	Latency:    "it needs trials at two rates or frame sizes or more",
}

func build(inputs []Input, o Options) (*Figure, error) {
	s, err := selectFrom(inputs, o)
	if err != nil {
		return nil, err
	}
	makers := map[Kind]func() (*Figure, error){
		HDR: s.hdr, Histogram: s.histogram, Intervals: s.intervals, Worst: s.worst, Jitter: s.jitter, Rate: s.rate,
		Loss: s.loss, Throughput: s.throughput, Latency: s.latency,
	}
	maker, ok := makers[o.Kind]
	if !ok {
		return nil, exit.Wrongf("unknown figure %q; allowed: %s", o.Kind, kindList())
	}
	if err := s.checkGroups(); err != nil {
		return nil, err // before it reads hundreds of files
	}
	f, err := maker()
	if err != nil {
		return nil, err
	}
	if len(f.Series) == 0 {
		return nil, errNothing
	}
	if err := s.split(f); err != nil {
		return nil, err
	}
	for i := range f.Series {
		one := &f.Series[i]
		f.name(one, inputs)
	}
	for i := range f.Panels {
		for j := range f.Panels[i].Series {
			f.name(&f.Panels[i].Series[j], inputs)
		}
	}
	s.noteVerdicts()
	f.Kind, f.Notes = o.Kind, append(f.Notes, s.notes...)
	if f.Title == "" {
		f.Title = string(o.Kind)
		if len(inputs) == 1 {
			f.Title = inputs[0].Result.Summary.Name + ": " + f.Title
		}
	}
	return f, nil
}

// name puts the label of the only result before that of a curve, and names a curve beside others that has no label.
func (f *Figure) name(one *Series, inputs []Input) {
	if len(inputs) == 1 && one.Source == 0 { // the names of several are among the curves' differences
		one.Label = strings.Join(slices.DeleteFunc([]string{inputs[0].Label, one.Label}, func(part string) bool { return part == "" }), ", ")
	}
	if one.Label == "" && len(f.Series) > 1 {
		one.Label = "measured"
	}
}

// noteVerdicts says how many of the trials were disturbed: no figure hides that.
func (s *selection) noteVerdicts() {
	counts := map[result.Verdict]int{}
	for _, t := range s.trials {
		counts[t.Trial.Verdict]++
	}
	for _, verdict := range []result.Verdict{result.Noisy, result.Invalid} {
		switch n := counts[verdict]; {
		case n == 0:
		case len(s.trials) == 1:
			s.note("the trial is %s", verdict)
		case n == 1:
			s.note("1 of the %d trials is %s", len(s.trials), verdict)
		default:
			s.note("%d of the %d trials are %s", n, len(s.trials), verdict)
		}
	}
}

func kindList() string {
	var list []string
	for _, k := range Kinds() {
		list = append(list, string(k))
	}
	return strings.Join(list, ", ")
}

// checkGroups refuses more combinations than panels can hold.
func (s *selection) checkGroups() error {
	groups := s.groups()
	if len(groups) <= mostLooks || s.Kind.overAxis() {
		return nil
	}
	var all []map[string]any
	for _, one := range identitiesOf(groups) {
		all = append(all, one.variables)
	}
	keys, err := s.panelKeys(all, 1, mostLooks)
	if err == nil && keys == nil {
		err = s.tooMany(len(groups))
	}
	return err
}

// mostHints is how many variables an error proposes to choose values of.
const mostHints = 8

// tooMany says how to get fewer curves.
func (s *selection) tooMany(curves int) error {
	var hints []string
	for _, name := range s.names() {
		first := ""
		for _, t := range s.trials {
			v := result.FormatVariable(t.Trial.Variables[name])
			if first == "" {
				first = v
			} else if v != "" && v != first {
				hints = append(hints, name+"="+first)
				break
			}
		}
		if len(hints) == mostHints {
			break
		}
	}
	if len(hints) == 0 {
		return exit.Wrongf("that makes %d curves, and at most %d can be told apart; choose trials with --trials, or draw fewer results or --published files", curves, mostLooks)
	}
	return exit.Wrongf("that makes %d curves, and at most %d can be told apart, in at most %d panels (--panels); keep some with --where (such as --where %s), choose trials with --trials, or put trials together with --group-by KEY",
		curves, mostLooks, mostPanels, terminal.Plain(strings.Join(hints, " or --where ")))
}

// overlay adds published curves in the look of the matching series, or in the next free one.
func (f *Figure) overlay(published []overlaid) {
	next := 0
	for _, s := range f.Series {
		next = max(next, s.Look+1)
	}
	for _, p := range published {
		look := p.match
		if look < 0 {
			look = next
			next++
		}
		source := slices.Index(f.Sources, p.source) + 1
		if source == 0 {
			f.Sources = append(f.Sources, p.source)
			source = len(f.Sources)
		}
		f.Series = append(f.Series, Series{Label: p.label, Source: source, Look: look, Shape: p.shape, Points: p.points, Marks: p.marks})
	}
}

// overlaid is a published curve; match is the look of our matching series, or -1.
type overlaid struct {
	label, source string
	match         int
	shape         Shape
	points, marks []Point
}
