package result

import (
	"maps"
	"strings"
)

// LoadVariable is the part of a search's result at which a trial was run for its
// latency: a variable of such a trial beside the swept ones, for who shows it.
const LoadVariable = "load"

// The conditions of findings that tell trials for the latency apart: of which finding,
// and in which test of the method the load was offered.
const (
	ofCondition   = "of"
	testCondition = "test"
)

// loadOfVariable is ofCondition as a variable, where a search has several.
const loadOfVariable = "load of"

// WindowPurpose begins the purpose of a trial that is a window of a soak, one long
// measurement.
const WindowPurpose = "latency in window "

// latencyName begins the findings of a trial's latency: "latency p99".
const latencyName = "latency "

// UnderLoad tells findings of the latency at parts of a search's result, whose trials
// have the whole of it.
func (f Finding) UnderLoad() bool {
	_, of := f.Conditions[ofCondition]
	return of && strings.HasPrefix(f.Name, latencyName)
}

// Shown are the trials whose figures belong beside one another: plain trials, the
// windows of a soak, and those that a search ran for the latency at parts of its result,
// which get LoadVariable. A search's other trials are its way to the result, at rates
// that differ: the median of them would say nothing.
func Shown(trials []Trial, searches []Search) []Trial {
	type load struct{ part, of, test any }
	loads := map[string]load{}
	several := false
	first := map[string]any{} // by search
	for _, s := range searches {
		for _, f := range s.Findings {
			part, ok := f.Conditions[LoadVariable]
			if !ok || f.Trial == "" || !strings.HasPrefix(f.Name, latencyName) {
				continue
			}
			of := f.Conditions[ofCondition]
			if _, seen := first[s.ID]; !seen {
				first[s.ID] = of
			}
			several = several || first[s.ID] != of
			loads[f.Trial] = load{part, of, f.Conditions[testCondition]}
		}
	}
	shown := make([]Trial, 0, len(trials))
	for _, t := range trials {
		at, underLoad := loads[t.ID]
		switch {
		case t.Search == "" || strings.HasPrefix(t.Purpose, WindowPurpose):
		case underLoad:
			variables := make(map[string]any, len(t.Variables)+2)
			maps.Copy(variables, t.Variables)
			if at.test != nil {
				variables[unused(t.Variables, testCondition)] = at.test
			}
			if several {
				variables[loadOfVariable] = at.of
			}
			variables[unused(t.Variables, LoadVariable)] = at.part
			t.Variables = variables
		default:
			continue
		}
		shown = append(shown, t)
	}
	return shown
}

// unused is the name, or another where the sweep has cases that are called so.
func unused(variables map[string]any, name string) string {
	for {
		if _, taken := variables[name]; !taken {
			return name
		}
		name += " of the search"
	}
}

// Shown are the result's trials that belong beside one another.
func (r *Result) Shown() []Trial { return Shown(r.Summary.Trials, r.Searches) }
