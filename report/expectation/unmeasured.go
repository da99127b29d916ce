package expectation

import (
	"slices"
	"strings"

	"nines.dev/nines/expect"
	"nines.dev/nines/result"
)

// unmeasured are the combinations that were to be measured and have no trial: expectations about them are undecided.
func unmeasured(o Options) []Case {
	var cases []Case
	add := func(variables map[string]any, because string) {
		measured := slices.ContainsFunc(o.Result.Summary.Trials, func(t result.Trial) bool { return same(t.Variables, variables) })
		known := slices.ContainsFunc(cases, func(c Case) bool { return same(c.Variables, variables) })
		if !measured && !known {
			cases = append(cases, Case{Variables: variables, Decision: expect.Undecided, Because: because})
		}
	}
	for _, one := range o.Result.Summary.Skipped {
		add(one.Variables, "it was not measured: "+one.Reason)
	}
	for _, variables := range o.Planned {
		add(variables, "it was not measured: the run ended before")
	}
	return cases
}

// meets reports whether variables meet all conditions, whose keys may be shortened.
func meets(variables map[string]any, where []expect.Condition) bool {
	for _, c := range where {
		met := false
		for name, value := range variables {
			met = met || (name == c.Key || strings.HasSuffix(name, "."+c.Key)) && slices.Contains(c.Values, result.FormatVariable(value))
		}
		if !met {
			return false
		}
	}
	return true
}
