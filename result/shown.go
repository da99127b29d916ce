package result

import (
	"maps"
	"strings"
)

// LoadVariable is the fraction of a search's result at which a latency trial was run: an additional
// variable of such a trial for display.
const LoadVariable = "load"

// The conditions of findings that distinguish latency trials: the finding, and the method's test in
// which the load was offered.
const (
	ofCondition   = "of"
	testCondition = "test"
)

// loadOfVariable is ofCondition as a variable, if a search has several.
const loadOfVariable = "load of"

// WindowPurpose begins the purpose of a trial that is a window of a soak, one long measurement.
const WindowPurpose = "latency in window "

// latencyName begins the findings of a trial's latency: "latency p99".
const latencyName = "latency "

// UnderLoad reports whether a finding is the latency at a fraction of a search's result; its trial
// has the full latency.
func (f Finding) UnderLoad() bool {
	_, of := f.Conditions[ofCondition]
	return of && strings.HasPrefix(f.Name, latencyName)
}

// Shown returns the comparable trials: plain trials, the windows of a soak, and a search's latency
// trials at fractions of its result, which get LoadVariable. A search's other trials lead to the
// result at various rates: their median would mean nothing.
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

// unused is the name, or another one if the sweep already uses it.
func unused(variables map[string]any, name string) string {
	for {
		if _, taken := variables[name]; !taken {
			return name
		}
		name += " of the search"
	}
}

// Shown returns the result's comparable trials.
func (r *Result) Shown() []Trial { return Shown(r.Summary.Trials, r.Searches) }
