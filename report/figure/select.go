package figure

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// Keys of the variables that can be on an x axis, and of those added to the experiment file's: the
// result, the repeat, and a search's purpose for the trial.
const (
	sizeKey    = "traffic.frame_bytes"
	rateKey    = "traffic.rate_pps"
	bitsKey    = "traffic.rate_bits"
	shareKey   = "traffic.rate_of_maximum"
	resultKey  = "result"
	repeatKey  = "repeat"
	purposeKey = "purpose"
)

// Input is a result to draw, with a name: needed if there are several, and optional for one.
type Input struct {
	Result *result.Result
	Label  string
}

// Repeats says how to show the repeats of a combination.
type Repeats string

// A band from the smallest to the largest, a thin line for each, only the combined result, or a
// separate curve for each. Auto draws bands if there are few.
const (
	RepeatsAuto  Repeats = "auto"
	RepeatsBand  Repeats = "band"
	RepeatsLines Repeats = "lines"
	RepeatsNone  Repeats = "none"
	RepeatsEach  Repeats = "each"
)

// Condition keeps the trials whose variable has one of the values.
type Condition struct {
	Key    string
	Values []string
}

// Options say what to draw of the results, and how.
type Options struct {
	Kind Kind
	// Trials keeps those with these IDs; nil for all.
	Trials  []string
	Where   []Condition
	GroupBy []string
	Repeats Repeats
	// MaxLatencyNs is the end of the latency axis; 0: at the largest value.
	MaxLatencyNs int64
	// Undisturbed also draws, for the kind HDR, the latencies without the host's interruptions.
	Undisturbed bool
	// LinearBins are bins of equal width, for the kind Histogram.
	LinearBins bool
	// Slowest is, for the kind Worst, how many packets of a trial are drawn; 0: a share of them.
	Slowest int
	// Percentile is the figure for the kind Latency, by its name in summary.json.
	Percentile string
	// Panels are the variables of which each combination of values has a panel of its own; nil: one panel, or as many as
	// the curves need that are more than can be told apart.
	Panels []string
	// Published are curves from published files.
	Published []Published
	// Progress is told how many trials were read in a stage; it may be nil.
	Progress func(stage string, done, of int)
}

// errNothing means that the results have no data for a kind.
var errNothing = errors.New("nothing to draw")

// selection is what remains of the results after all conditions. Trial IDs get their result's
// number as a prefix, so that they stay unique.
type selection struct {
	Options
	trials, maxima []report.Evidence
	searches       []result.Search
	published      []result.Published
	folders        map[string]result.Folder
	// searchLoss is the loss of searches' trials, which counts unsent packets as lost.
	searchLoss map[string]float64
	notes      []string
	several    bool
	// read and drawn count the trials whose details, and whose other files, were read.
	read, drawn int
}

// stages of reading, for Options.Progress.
const (
	stageDetails = "trials read for the figure"
	stageFiles   = "trials read for the curves"
)

// folder is that of a trial whose files are read next.
func (s *selection) folder(id string) result.Folder {
	if s.drawn++; s.Progress != nil {
		s.Progress(stageFiles, min(s.drawn, len(s.trials)), len(s.trials))
	}
	return s.folders[id]
}

// overAxis reports whether the kind's points are whole trials.
func (k Kind) overAxis() bool { return k == Loss || k == Throughput || k == Latency }

func selectFrom(inputs []Input, o Options) (*selection, error) {
	s := &selection{Options: o, folders: map[string]result.Folder{}, searchLoss: map[string]float64{}, several: len(inputs) > 1}
	all := 0
	for _, in := range inputs {
		all += len(in.Result.Summary.Trials)
	}
	for i, in := range inputs {
		if err := s.take(i, in, all); err != nil {
			return nil, err
		}
	}
	if err := s.checkTrials(inputs); err != nil {
		return nil, err
	}
	s.preferLatencyTrials()
	for _, c := range o.Where {
		if err := s.filter(c); err != nil {
			return nil, err
		}
	}
	if len(inputs) > 0 && len(s.trials) == 0 {
		return nil, exit.Wrongf("no trial meets all of the conditions of --trials and --where together")
	}
	return s, s.groupBy()
}

// take takes a result; all is the number of trials of all results.
func (s *selection) take(index int, in Input, all int) error {
	r := in.Result
	id := func(kind, id string) string { return fmt.Sprintf("%d/%s/%s", index, kind, id) }
	name := func(variables map[string]any) map[string]any {
		named := maps.Clone(variables)
		if named == nil {
			named = map[string]any{}
		}
		if s.several {
			named[resultKey] = in.Label
		}
		return named
	}
	searched := map[string]result.SearchTrial{}
	for _, search := range r.Searches {
		for _, t := range search.Trials {
			searched[t.ID] = t
		}
		search.Variables = name(search.Variables)
		s.searches = append(s.searches, search)
	}
	wanted := map[string]bool{}
	for _, id := range s.Trials {
		wanted[id] = true
	}
	for _, t := range r.Summary.Trials {
		if s.read++; s.Progress != nil {
			s.Progress(stageDetails, s.read, all)
		}
		if s.Trials != nil && !wanted[t.ID] {
			continue
		}
		folder := r.TrialFolder(t.ID)
		details, err := s.details(folder)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Dir, err)
		}
		t.Variables = name(t.Variables)
		if of, ok := searched[t.ID]; ok {
			if s.Kind.overAxis() {
				t.Variables[rateKey] = of.RatePPS
			} else {
				// The verdict says what a search could not use.
				purpose, _, _ := strings.Cut(of.Purpose, " (not used")
				purpose, _, _ = strings.Cut(purpose, ", repeat ") // repeats of the same
				t.Variables[purposeKey] = purpose
				if !forLatency(purpose) { // a search's other trials, at other rates, are no repeats
					t.Variables[rateKey] = of.RatePPS
				}
			}
			s.searchLoss[id("trials", t.ID)] = of.LossRatio
		}
		if s.Repeats == RepeatsEach {
			t.Variables[repeatKey] = t.Repeat
		}
		t.ID = id("trials", t.ID)
		s.folders[t.ID] = folder
		s.trials = append(s.trials, report.Evidence{Trial: t, Details: details})
	}
	for _, m := range r.Maxima {
		details, err := s.details(r.MaximumFolder(m.ID))
		if err != nil {
			return fmt.Errorf("%s: %w", r.Dir, err)
		}
		m.Variables, m.ID = name(m.Variables), id("maxima", m.ID)
		s.maxima = append(s.maxima, report.Evidence{Trial: m, Details: details})
	}
	for _, p := range r.Published {
		if !slices.ContainsFunc(s.published, func(other result.Published) bool {
			return p.Source == other.Source && p.Series == other.Series && p.Figure == other.Figure
		}) {
			s.published = append(s.published, p)
		}
	}
	return nil
}

// details are nil if the file is missing, which Open has reported.
func (s *selection) details(f result.Folder) (*result.Details, error) {
	details, err := f.Details()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return &details, err
}

func (s *selection) checkTrials(inputs []Input) error {
	for _, wanted := range s.Trials {
		if !slices.ContainsFunc(s.trials, func(t report.Evidence) bool { return strings.HasSuffix(t.Trial.ID, "/"+wanted) }) {
			var have []string
			for _, in := range inputs {
				for _, t := range in.Result.Summary.Trials {
					have = append(have, t.ID)
				}
			}
			return exit.Wrongf("trial %s does not exist; the trials are %s", wanted, some(have))
		}
	}
	return nil
}

// preferLatencyTrials drops a search's other trials, if it measured the latency at its result
// afterwards.
func (s *selection) preferLatencyTrials() {
	if s.Kind.overAxis() || s.Trials != nil || slices.ContainsFunc(s.Where, func(c Condition) bool { return c.Key == purposeKey }) {
		return
	}
	purpose := func(t report.Evidence) string { return result.FormatVariable(t.Trial.Variables[purposeKey]) }
	wayfinding := func(t report.Evidence) bool { return purpose(t) != "" && !forLatency(purpose(t)) }
	if slices.ContainsFunc(s.trials, func(t report.Evidence) bool { return forLatency(purpose(t)) }) {
		s.trials = slices.DeleteFunc(s.trials, wayfinding)
	}
}

// forLatency reports whether a trial measures latency at a search's result.
func forLatency(purpose string) bool { return strings.HasPrefix(purpose, "latency") }

func (s *selection) names() []string {
	all := make([]result.Trial, 0, len(s.trials)+len(s.maxima))
	for _, t := range s.trials {
		all = append(all, t.Trial)
	}
	for _, m := range s.maxima {
		all = append(all, m.Trial)
	}
	for _, search := range s.searches {
		all = append(all, result.Trial{Variables: search.Variables})
	}
	return result.VariableNames(all)
}

func (s *selection) find(key string) (string, error) {
	name, err := report.FindVariable(s.names(), key)
	if err != nil {
		return "", exit.With(exit.Wrong, err)
	}
	return name, nil
}

func (s *selection) filter(c Condition) error {
	name, err := s.find(c.Key)
	if err != nil {
		return err
	}
	var values []string // in the order in which they first appear
	seen := map[string]bool{}
	keep := func(variables map[string]any) bool {
		value := result.FormatVariable(variables[name])
		if !seen[value] {
			seen[value], values = true, append(values, value)
		}
		return slices.Contains(c.Values, value)
	}
	drop := func(t report.Evidence) bool { return !keep(t.Trial.Variables) }
	s.trials = slices.DeleteFunc(s.trials, drop)
	s.searches = slices.DeleteFunc(s.searches, func(one result.Search) bool { return !keep(one.Variables) })
	for _, value := range c.Values {
		if !seen[value] {
			return exit.Wrongf("no trial has %s=%s; the values are %s", name, value, some(values))
		}
	}
	// A maximum has no rate: the rate is its result.
	s.maxima = slices.DeleteFunc(s.maxima, func(t report.Evidence) bool {
		_, has := t.Trial.Variables[name]
		return has && drop(t)
	})
	return nil
}

// groupBy drops all variables except those that distinguish curves; trials that differ in the
// others count as repeats.
func (s *selection) groupBy() error {
	if len(s.GroupBy) == 0 {
		return nil
	}
	keep := map[string]bool{}
	if s.Kind.overAxis() {
		keep = map[string]bool{sizeKey: true, rateKey: true, bitsKey: true, shareKey: true}
	}
	for _, key := range s.GroupBy {
		name, err := s.find(key)
		if err != nil {
			return err
		}
		keep[name] = true
	}
	forget := func(variables map[string]any) {
		maps.DeleteFunc(variables, func(name string, _ any) bool { return !keep[name] })
	}
	for _, list := range [][]report.Evidence{s.trials, s.maxima} {
		for _, t := range list {
			forget(t.Trial.Variables)
		}
	}
	for _, search := range s.searches {
		forget(search.Variables)
	}
	return nil
}

// groups returns the remaining combinations, one curve each.
func (s *selection) groups() []report.Group {
	list := make([]result.Trial, 0, len(s.trials))
	for _, t := range s.trials {
		list = append(list, t.Trial)
	}
	return report.Groups(list)
}

// note adds a sentence to the caption, once.
func (s *selection) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// missing notes a file that a trial lacks, and reports whether the error is that.
func (s *selection) missing(err error) bool {
	if errors.Is(err, fs.ErrNotExist) {
		s.note("left out: %v", err)
		return true
	}
	return false
}

func some(list []string) string {
	const most = 12
	if len(list) > most {
		return terminal.Plain(strings.Join(list[:most], ", ")) + fmt.Sprintf(" and %d more", len(list)-most)
	}
	return terminal.Plain(strings.Join(list, ", "))
}
