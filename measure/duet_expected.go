package measure

import (
	"nines.dev/nines/analysis/duet"
	"nines.dev/nines/expect"
	"nines.dev/nines/spec"
)

// expectedOf reports whether all that is expected of the sides is decided, as far as it can be. unseen is true where
// nothing undisturbed is told.
func expectedOf(asked *spec.Duet, answers []duet.Answer, unseen bool) bool {
	for _, text := range asked.Expect {
		e, err := expect.Parse(text)
		if err != nil {
			continue // the file was checked
		}
		for _, a := range answers {
			if e.IsFact() || a.Question != questionOf(e.Subject.Name()) || a.Difference == nil || unseen && a.Question.Undisturbed {
				continue
			}
			sides := expect.Sides{Difference: *expectInterval(a.Difference), Ratio: expectInterval(a.Ratio), Least: a.Least}
			if m, ok := sides.Margin(e); ok && m.Decide(e.Operator) == expect.Undecided {
				return false
			}
		}
	}
	return true
}

func expectInterval(i *duet.Interval) *expect.Interval {
	if i == nil {
		return nil
	}
	return &expect.Interval{Value: i.Value, Low: &i.Low, High: &i.High}
}
