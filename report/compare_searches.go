package report

import (
	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// ComparedFinding is one figure of a search on both sides.
type ComparedFinding struct {
	Method    string
	Variables map[string]any
	A, B      GroupFinding
	// Ratio is B's value over A's; nil without both, if A's is 0, or if one is only a least value.
	// Interval is that of the ratio; nil if a side has a single repeat.
	Ratio    *float64
	Interval *Interval
}

// compareFindings matches the findings of searches by method, variables and figure name.
func compareFindings(a, b []result.Search) []ComparedFinding {
	type key struct{ method, variables, name, at, unit string }
	right := map[key]GroupFinding{}
	each := func(searches []result.Search, do func(key, SearchGroup, GroupFinding)) {
		for _, g := range SearchGroups(searches) {
			for _, f := range g.Findings {
				do(key{g.Method, variableKey(g.Variables), f.Name, f.At, f.Unit}, g, f)
			}
		}
	}
	each(b, func(k key, _ SearchGroup, f GroupFinding) { right[k] = f })
	var list []ComparedFinding
	each(a, func(k key, g SearchGroup, f GroupFinding) {
		other, ok := right[k]
		if !ok {
			return
		}
		c := ComparedFinding{Method: g.Method, Variables: g.Variables, A: f, B: other}
		if f.Value != nil && other.Value != nil && *f.Value != 0 && !f.AtLeast && !other.AtLeast {
			ratio := *other.Value / *f.Value
			c.Ratio = &ratio
			c.Interval = boundsOf(confidence.Ratio(f.Values, other.Values, bootstrapSeed))
		}
		list = append(list, c)
	})
	return list
}

// searchesWith returns the searches with this value of a variable, with the variable removed.
func searchesWith(searches []result.Search, name, value string) []result.Search {
	var list []result.Search
	for _, s := range searches {
		if result.FormatVariable(s.Variables[name]) != value {
			continue
		}
		rest := map[string]any{}
		for key, v := range s.Variables {
			if key != name {
				rest[key] = v
			}
		}
		s.Variables = rest
		list = append(list, s)
	}
	return list
}

// searchesAsTrials returns trials with the searches' variables, for looking up names.
func searchesAsTrials(searches []result.Search) []result.Trial {
	trials := make([]result.Trial, 0, len(searches))
	for _, s := range searches {
		trials = append(trials, result.Trial{Variables: s.Variables})
	}
	return trials
}

// findingsTable has a line for each figure on both sides.
func findingsTable(findings []ComparedFinding) *terminal.Table {
	t := &terminal.Table{}
	t.Words("")
	t.Words("finding")
	t.Words("at")
	t.Words("unit")
	t.Numbers("A", "")
	t.Numbers("B", "")
	t.Numbers("B/A", "")
	t.Words("95 % interval")
	for _, f := range findings {
		which := f.Method
		if len(f.Variables) > 0 {
			which = Describe(f.Variables)
		}
		t.Row(terminal.Plain(which), terminal.Plain(f.A.Name), f.A.At, findingUnit(f.A.Unit),
			f.A.valueText(), f.B.valueText(), ratioText(f.Ratio), intervalText(f.Interval))
	}
	return t
}

// comparedFindingJSON is a ComparedFinding; times are nanoseconds.
type comparedFindingJSON struct {
	Method    string         `json:"method"`
	Variables map[string]any `json:"variables"`
	A         GroupFinding   `json:"a"`
	B         GroupFinding   `json:"b"`
	Ratio     *float64       `json:"ratio"`
	Interval  *Interval      `json:"interval"`
}

func findingsJSON(findings []ComparedFinding) []comparedFindingJSON {
	list := make([]comparedFindingJSON, 0, len(findings))
	for _, f := range findings {
		list = append(list, comparedFindingJSON(f))
	}
	return list
}
