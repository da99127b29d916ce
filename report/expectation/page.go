package expectation

import "nines.dev/nines/report"

// OnPage are the decisions as the page of a result shows them; none for nil.
func (j *Judgements) OnPage() []report.Expected {
	if j == nil {
		return nil
	}
	var list []report.Expected
	for _, one := range j.List {
		e := report.Expected{Expectation: one.Text, Decision: string(one.Decision), Because: one.notes()}
		lines := make([]string, 0, len(one.Cases)+len(e.Because))
		for _, c := range one.Cases {
			lines = append(lines, c.line(one.Expectation))
		}
		e.Because = append(lines, e.Because...)
		list = append(list, e)
	}
	return list
}
