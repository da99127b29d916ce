package report

import (
	"strings"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// Comparison compares the trials of two results, or of two values of a variable in one result.
type Comparison struct {
	// A and B name the sides, such as folders or "links.in.kind=veth".
	A, B string
	// By is the variable that distinguishes the sides; "" for two results.
	By    string
	Pairs []Pair
	// Findings are what search methods found on both sides.
	Findings []ComparedFinding
	// OnlyA and OnlyB are combinations of variables that only one side has.
	OnlyA, OnlyB []map[string]any
}

// Pair is the same combination of variables on both sides.
type Pair struct {
	Variables map[string]any
	A, B      Group
	Figures   []Compared
}

// Compared is one figure on both sides; nil if a side does not support it.
type Compared struct {
	Figure Figure
	A, B   *Spread
	// Ratio is B's median over A's; nil without both, or if A's is 0.
	Ratio *float64
	// Interval is that of the ratio; nil if a side has a single repeat.
	Interval *Interval
	Verdict  Difference
}

// Difference says whether two sides differ by more than their repeats do.
type Difference string

// A figure differs clearly if the interval of its ratio excludes 1. If it includes 1, or without an
// interval, a difference is not shown.
const (
	Higher  Difference = "higher" // B above A
	Lower   Difference = "lower"
	Unclear Difference = "unclear"
	Equal   Difference = "equal" // the same in every repeat
	Unknown Difference = "unknown"
)

// CompareResults matches the trials of two results by their variables.
func CompareResults(a, b *result.Result) Comparison {
	return compare(Comparison{A: a.Dir, B: b.Dir, Findings: compareFindings(a.Searches, b.Searches)}, Groups(a.Shown()), Groups(b.Shown()))
}

// CompareValues matches the trials of one result that have one value of a variable with those that
// have the other. The variable's name may be shortened to its last parts, if they are unique.
func CompareValues(r *result.Result, variable, a, b string) (Comparison, error) {
	trials := r.Shown()
	names := result.VariableNames(append(searchesAsTrials(r.Searches), trials...))
	name, err := FindVariable(names, variable)
	if err != nil {
		return Comparison{}, err
	}
	var sides [2][]result.Trial
	seen := []string{}
	for _, t := range trials {
		value := result.FormatVariable(t.Variables[name])
		if !contains(seen, value) {
			seen = append(seen, value)
		}
		rest := map[string]any{}
		for key, v := range t.Variables {
			if key != name {
				rest[key] = v
			}
		}
		t.Variables = rest
		if value == a {
			sides[0] = append(sides[0], t)
		}
		if value == b {
			sides[1] = append(sides[1], t)
		}
	}
	searchesA, searchesB := searchesWith(r.Searches, name, a), searchesWith(r.Searches, name, b)
	for i, value := range []string{a, b} {
		if len(sides[i]) == 0 && len([][]result.Search{searchesA, searchesB}[i]) == 0 {
			return Comparison{}, exit.Wrongf("no trial has %s=%s; the values are %s", name, value, terminal.Plain(strings.Join(seen, ", ")))
		}
	}
	return compare(Comparison{A: name + "=" + a, B: name + "=" + b, By: name, Findings: compareFindings(searchesA, searchesB)}, Groups(sides[0]), Groups(sides[1])), nil
}

// FindVariable resolves a variable's name: its whole key, or its last parts if they are unique.
func FindVariable(names []string, wanted string) (string, error) {
	if contains(names, wanted) {
		return wanted, nil
	}
	var matches []string
	for _, name := range names {
		if strings.HasSuffix(name, "."+wanted) {
			matches = append(matches, name)
		}
	}
	if len(matches) == 1 {
		return matches[0], nil
	}
	if len(names) == 0 {
		return "", exit.Wrongf("no variable %q: the result has no sweep", wanted)
	}
	return "", exit.Wrongf("no single variable %q; the result varies %s", wanted, terminal.Plain(strings.Join(names, ", ")))
}

func contains(list []string, wanted string) bool {
	for _, one := range list {
		if one == wanted {
			return true
		}
	}
	return false
}

func compare(c Comparison, a, b []Group) Comparison {
	right := map[string]Group{}
	for _, g := range b {
		right[variableKey(g.Variables)] = g
	}
	matched := map[string]bool{}
	for _, g := range a {
		key := variableKey(g.Variables)
		other, ok := right[key]
		if !ok {
			c.OnlyA = append(c.OnlyA, g.Variables)
			continue
		}
		matched[key] = true
		pair := Pair{Variables: g.Variables, A: g, B: other}
		for _, f := range AllFigures() {
			pair.Figures = append(pair.Figures, compareFigure(f, g, other))
		}
		c.Pairs = append(c.Pairs, pair)
	}
	for _, g := range b {
		if !matched[variableKey(g.Variables)] {
			c.OnlyB = append(c.OnlyB, g.Variables)
		}
	}
	return c
}

func compareFigure(f Figure, a, b Group) Compared {
	valuesA, okA := a.Values(f)
	valuesB, okB := b.Values(f)
	c := Compared{Figure: f, A: boundedSpread(valuesA, okA), B: boundedSpread(valuesB, okB), Verdict: Unknown}
	if c.A == nil || c.B == nil {
		return c
	}
	if c.A.Min == c.A.Max && c.B.Min == c.B.Max && c.A.Min == c.B.Min {
		c.Verdict = Equal
	}
	if c.A.Median == 0 {
		return c // nothing to divide by
	}
	ratio := c.B.Median / c.A.Median
	c.Ratio = &ratio
	c.Interval = boundsOf(confidence.Ratio(valuesA, valuesB, bootstrapSeed))
	switch {
	case c.Verdict == Equal, c.Interval == nil:
	case c.Interval.Low > 1:
		c.Verdict = Higher
	case c.Interval.High < 1:
		c.Verdict = Lower
	default:
		c.Verdict = Unclear
	}
	return c
}
