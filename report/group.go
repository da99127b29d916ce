package report

import (
	"slices"
	"sort"
	"strings"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/result"
)

// Group is all repeats of one combination of the swept variables.
type Group struct {
	Variables map[string]any
	Trials    []result.Trial
}

// Groups puts trials of the same variables together, in the order in which the
// combinations first appear, which is the sweep's.
func Groups(trials []result.Trial) []Group {
	groups := []Group{}
	at := map[string]int{}
	for _, t := range trials {
		key := variableKey(t.Variables)
		index, ok := at[key]
		if !ok {
			index = len(groups)
			at[key] = index
			groups = append(groups, Group{Variables: t.Variables})
		}
		groups[index].Trials = append(groups[index].Trials, t)
	}
	return groups
}

// variableKey is the same for the same variables, and only then: fields are
// separated by bytes that no name or value contains.
func variableKey(variables map[string]any) string {
	names := make([]string, 0, len(variables))
	for name := range variables {
		names = append(names, name)
	}
	sort.Strings(names)
	var key strings.Builder
	for _, name := range names {
		key.WriteString(name + "\x00" + result.FormatVariable(variables[name]) + "\x01")
	}
	return key.String()
}

// Counted are the trials that the group's figures rest on: those that offered
// what they promised, or all where none did.
func (g Group) Counted() []result.Trial {
	valid := []result.Trial{}
	for _, t := range g.Trials {
		if t.Verdict != result.Invalid {
			valid = append(valid, t)
		}
	}
	if len(valid) == 0 {
		return g.Trials
	}
	return valid
}

// invalid is true for a group none of whose trials offered what it promised.
func (g Group) invalid() bool {
	return !slices.ContainsFunc(g.Trials, func(t result.Trial) bool { return t.Verdict != result.Invalid })
}

// Verdicts counts the verdicts of all the group's trials.
func (g Group) Verdicts() map[result.Verdict]int {
	counts := map[result.Verdict]int{}
	for _, t := range g.Trials {
		counts[t.Verdict]++
	}
	return counts
}

// Figure is one number of a trial.
type Figure struct {
	// Name is the JSON name with its unit: "latency_p99_ns".
	Name string
	// Title and Unit head the column of a table; Scale turns the value into Unit.
	Title, Unit string
	Scale       float64
	// Of is false where the trial supports no such figure.
	Of func(result.Trial) (float64, bool)
}

// RateFigures are offered and received rate, and loss.
func RateFigures() []Figure {
	return []Figure{
		{"offered_pps", "offered", "pps", 1, func(t result.Trial) (float64, bool) { return t.OfferedPPS, true }},
		{"received_pps", "received", "pps", 1, receivedPPS},
		{"loss_ratio", "loss", "%", 100, loss},
	}
}

// LatencyFigure is a percentile of the latency, "min", "mean" or "max", by its
// name in summary.json.
func LatencyFigure(name string) Figure {
	title := strings.ReplaceAll(name, "_", ".")
	return Figure{"latency_" + name + "_ns", title, "µs", 1e-3, func(t result.Trial) (float64, bool) {
		value := t.Latency.Figure(name)
		if value == nil {
			return 0, false
		}
		return float64(*value), true
	}}
}

// receivedPPS follows from the summary: all that was sent took the trial's time.
func receivedPPS(t result.Trial) (float64, bool) {
	if t.TxPackets == 0 {
		return 0, t.OfferedPPS == 0
	}
	return t.OfferedPPS * float64(t.RxPackets) / float64(t.TxPackets), true
}

func loss(t result.Trial) (float64, bool) {
	ratio := t.LossRatio()
	if ratio == nil {
		return 0, false
	}
	return *ratio, true
}

// Values are the figure in each counted repeat. It is false where one of them
// supports no such figure: a median of the rest would stand for other trials.
func (g Group) Values(f Figure) ([]float64, bool) {
	values := []float64{}
	for _, t := range g.Counted() {
		value, ok := f.Of(t)
		if !ok {
			return nil, false
		}
		values = append(values, value)
	}
	return values, len(values) > 0
}

// Spread is the range of repeats around their median.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	// Interval is of the median; nil for a single repeat, and where nobody asked.
	Interval *Interval `json:"interval,omitempty"`
}

// spreadOf is nil for no values.
func spreadOf(values []float64, ok bool) *Spread {
	if !ok || len(values) == 0 {
		return nil
	}
	s := &Spread{Median: result.Median(values), Min: values[0], Max: values[0]}
	for _, v := range values {
		s.Min, s.Max = min(s.Min, v), max(s.Max, v)
	}
	return s
}

// boundedSpread has the interval of the median as well, which takes a millisecond.
func boundedSpread(values []float64, ok bool) *Spread {
	s := spreadOf(values, ok)
	if s != nil {
		s.Interval = boundsOf(confidence.Median(values, bootstrapSeed))
	}
	return s
}

// shortNames drops what a variable's name shares with no other: "links.*.kind"
// is "kind" unless "nodes.*.kind" is swept as well.
func shortNames(names []string) map[string]string {
	short := map[string]string{}
	for _, name := range names {
		parts := strings.Split(name, ".")
		for from := len(parts) - 1; from >= 0; from-- {
			candidate := strings.Join(parts[from:], ".")
			if !endsAnother(names, name, candidate) {
				short[name] = candidate
				break
			}
		}
		if short[name] == "" {
			short[name] = name
		}
	}
	return short
}

func endsAnother(names []string, name, suffix string) bool {
	for _, other := range names {
		if other != name && (other == suffix || strings.HasSuffix(other, "."+suffix)) {
			return true
		}
	}
	return false
}
