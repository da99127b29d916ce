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

// Groups groups trials by their variables, in the order in which the combinations first appear,
// which is the sweep's.
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

// variableKey is equal exactly for equal variables: its separators are bytes that no name or value
// contains.
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

// Counted returns the trials that the group's figures use: those that offered their load.
func (g Group) Counted() []result.Trial {
	valid := []result.Trial{}
	for _, t := range g.Trials {
		if t.Verdict != result.Invalid {
			valid = append(valid, t)
		}
	}
	return valid
}

// Drawn returns the trials that figures draw: those that count or, if none does, all, which the figure then
// marks as invalid.
func (g Group) Drawn() []result.Trial {
	if g.Invalid() {
		return g.Trials
	}
	return g.Counted()
}

// Invalid reports whether no trial of the group offered its load.
func (g Group) Invalid() bool {
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
	// Title and Unit are the head of a table column; Scale converts the value to Unit.
	Title, Unit string
	Scale       float64
	// Optional figures are left out of a table if nothing there has them.
	Optional bool
	// Of is false if the trial does not support the figure.
	Of func(result.Trial) (float64, bool)
}

// RateFigures are offered rate, received rate and loss.
func RateFigures() []Figure {
	return []Figure{
		figure("offered_pps", "offered", "pps", 1),
		received,
		figure("loss_ratio", "loss", "%", 100),
	}
}

var received = figure("received_pps", "received", "pps", 1)

// ReceivedFigure is the rate of unique packets that arrived.
func ReceivedFigure() Figure { return received }

// LatencyFigure is a percentile of the latency, "min", "mean" or "max", by its
// name in summary.json.
func LatencyFigure(name string) Figure {
	return figure("latency_"+name+"_ns", strings.ReplaceAll(name, "_", "."), "µs", 1e-3)
}

// UndisturbedFigure is a percentile of the latency without the host's interruptions, by its name in summary.json.
func UndisturbedFigure(name string) Figure {
	f := figure("latency_undisturbed_"+name+"_ns", "undisturbed "+strings.ReplaceAll(name, "_", "."), "µs", 1e-3)
	f.Optional = true
	return f
}

// figure is that of the column of a trial with this name.
func figure(name, title, unit string, scale float64) Figure {
	return Figure{Name: name, Title: title, Unit: unit, Scale: scale, Of: result.TrialFigure(name)}
}

// Values returns the figure in each counted repeat. It is false if one of them does not support it:
// a median of the rest would not represent all trials.
func (g Group) Values(f Figure) ([]float64, bool) { return valuesOf(g.Counted(), f) }

func valuesOf(trials []result.Trial, f Figure) ([]float64, bool) {
	values := []float64{}
	for _, t := range trials {
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
	// Interval is that of the median; nil for a single repeat, or if not requested.
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

// boundedSpread also has the interval of the median, which takes a millisecond.
func boundedSpread(values []float64, ok bool) *Spread {
	s := spreadOf(values, ok)
	if s != nil {
		s.Interval = boundsOf(confidence.Median(values, bootstrapSeed))
	}
	return s
}

// shortNames drops the parts of a variable's name that it does not need to be unique:
// "links.*.kind" becomes "kind" unless "nodes.*.kind" is swept as well.
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
