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
	// When is when the trials of the two sides ran.
	When timing
	// RulesA and RulesB are the versions of the rules that made the numbers of two results.
	RulesA, RulesB int
	// ReferenceRuns is how many runs give the yardstick.
	ReferenceRuns int
	// OnlyA and OnlyB are combinations of variables that only one side has.
	OnlyA, OnlyB []map[string]any
}

// Pair is the same combination of variables on both sides.
type Pair struct {
	Variables map[string]any
	A, B      Group
	// Against says why these trials cannot decide anything; empty if they can.
	Against []string
	Figures []Compared
}

// Compared is one figure on both sides; nil if a side does not support it.
type Compared struct {
	Figure Figure
	A, B   *Spread
	// Ratio is B's median over A's; nil without both, or if A's is 0.
	Ratio *float64
	// Interval is that of the ratio, with the spread of a reference; nil if a side has a single repeat.
	Interval *Interval
	Verdict  Difference
}

// CompareResults matches the trials of two results by their variables.
func CompareResults(a, b *result.Result, o CompareOptions) Comparison {
	c := Comparison{A: a.Dir, B: b.Dir, When: apart, RulesA: a.Summary.Rules, RulesB: b.Summary.Rules, ReferenceRuns: len(o.Reference), Findings: compareFindings(a.Searches, b.Searches)}
	if o.Steady {
		c.When = steady
	}
	yard := reference(o.Reference)
	return compare(c, Groups(a.Shown()), Groups(b.Shown()), func(a, _ Group) (timing, []Group, int) {
		if yard == nil {
			return c.When, nil, -1
		}
		runs := yard[variableKey(a.Variables)]
		return c.When, runs, len(runs)
	})
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
			return Comparison{}, exit.Wrongf("no trial has %s=%s; %s", name, value, terminal.Plain(terminal.Choose(value, "the values are", seen)))
		}
	}
	place := map[string]int{}
	for i, t := range r.Summary.Trials {
		place[t.ID] = i
	}
	c := Comparison{A: name + "=" + a, B: name + "=" + b, By: name, Findings: compareFindings(searchesA, searchesB)}
	return compare(c, Groups(sides[0]), Groups(sides[1]), func(a, b Group) (timing, []Group, int) {
		if alternate(a, b, place) {
			return interleaved, nil, -1
		}
		return apart, nil, -1
	}), nil
}

// ValuesOf finds a variable of a result by its name, which may be shortened, and its values.
func ValuesOf(r *result.Result, variable string) (name string, values []string, err error) {
	trials := append(searchesAsTrials(r.Searches), r.Shown()...)
	if name, err = FindVariable(result.VariableNames(trials), variable); err != nil {
		return "", nil, err
	}
	for _, t := range trials {
		if value, has := t.Variables[name]; has && !contains(values, result.FormatVariable(value)) {
			values = append(values, result.FormatVariable(value))
		}
	}
	return name, values, nil
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
	return "", exit.Wrongf("no single variable %q; %s", wanted, terminal.Plain(terminal.Choose(wanted, "the result varies", names)))
}

func contains(list []string, wanted string) bool {
	for _, one := range list {
		if one == wanted {
			return true
		}
	}
	return false
}

// compare matches groups; when says of a pair when its trials ran, the groups of the reference, and their number, −1
// without a reference.
func compare(c Comparison, a, b []Group, when func(a, b Group) (timing, []Group, int)) Comparison {
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
		ran, runs, days := when(g, other)
		pair := Pair{Variables: g.Variables, A: g, B: other, Against: against(g, other, ran, days, [2]string{"A", "B"})}
		for _, f := range AllFigures() {
			figure := compareFigure(f, g, other)
			figure.widen(runs)
			figure.decide(pair.Against)
			pair.Figures = append(pair.Figures, figure)
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
	c := Compared{Figure: f, A: boundedSpread(valuesA, okA), B: boundedSpread(valuesB, okB)}
	if c.A == nil || c.B == nil || c.A.Median == 0 {
		return c // nothing to divide by
	}
	ratio := c.B.Median / c.A.Median
	c.Ratio = &ratio
	c.Interval = boundsOf(confidence.Ratio(valuesA, valuesB, bootstrapSeed))
	return c
}
