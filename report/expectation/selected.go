package expectation

import (
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/expect"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// selected are the trials whose variables meet all conditions.
func selected(trials []result.Trial, where []expect.Condition) ([]result.Trial, error) {
	names := result.VariableNames(trials)
	for _, c := range where {
		name, err := report.FindVariable(names, c.Key)
		if err != nil {
			return nil, err
		}
		var kept []result.Trial
		var seen []string
		for _, t := range trials {
			value := result.FormatVariable(t.Variables[name])
			if !slices.Contains(seen, value) {
				seen = append(seen, value)
			}
			if slices.Contains(c.Values, value) {
				kept = append(kept, t)
			}
		}
		if len(kept) == 0 {
			return nil, exit.Wrongf("where %s: no trial has that; the values are %s", c, terminal.Plain(strings.Join(seen, ", ")))
		}
		trials = kept
	}
	return trials, nil
}
