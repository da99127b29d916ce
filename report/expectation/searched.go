package expectation

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/expect"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// searches are what searches found of a figure, each by the ID of its first trial, which stands for it.
type searches struct {
	result *result.Result
	of     map[string]result.Search
	trials []result.Trial
}

// searchesOf are those of a result that look for the figure. What each combination's search found is decided on as a
// trial is. A search is clean if a clean trial shows that the network loses packets at its upper bound: what a noisy trial
// lost may be the host's doing, so that the network could carry more.
func searchesOf(r *result.Result, figure string) (*searches, error) {
	s := &searches{r, map[string]result.Search{}, nil}
	for _, one := range r.Searches {
		f, found := findingOf(one, figure)
		if !found || len(one.Trials) == 0 {
			continue
		}
		t := result.Trial{ID: one.Trials[0].ID, Variables: one.Variables, Repeat: one.Repeat, Verdict: result.Clean}
		if !s.bounded(one, f) {
			t.Verdict = result.Noisy
		}
		s.of[t.ID], s.trials = one, append(s.trials, t)
	}
	if len(s.trials) == 0 {
		return nil, exit.Wrongf("%s: no search of the result looked for it; %s", figure, expect.SearchRemedy(figure))
	}
	return s, nil
}

// findingOf is what a search found of a figure.
func findingOf(s result.Search, figure string) (result.Finding, bool) {
	for _, f := range s.Findings {
		if strings.EqualFold(f.Name, figure) && f.Unit == "packets/s" {
			return f, true
		}
	}
	return result.Finding{}, false
}

// bounded reports whether a clean trial lost more than the search allows at its upper bound.
func (s *searches) bounded(search result.Search, f result.Finding) bool {
	if f.High == nil || f.AtLeast {
		return false
	}
	allowed, _ := f.Conditions["loss_ratio"].(float64)
	verdicts := map[string]result.Verdict{}
	for _, t := range s.result.Summary.Trials {
		verdicts[t.ID] = t.Verdict
	}
	return slices.ContainsFunc(search.Trials, func(t result.SearchTrial) bool {
		return math.Abs(t.RatePPS-*f.High) <= 1e-6**f.High && t.LossRatio > allowed && verdicts[t.ID] == result.Clean
	})
}

// decisions are those on an expectation of what searches found, for each combination.
func (s *searches) decisions(e expect.Expectation) (list []decision, err error) {
	trials, err := selected(s.trials, e.Where)
	if err != nil {
		return nil, err
	}
	if e.InTurn() {
		pairs, err := inTurn(e, trials)
		for _, pair := range pairs {
			list = append(list, func(l levels) (Case, error) { return pair.judge(e, s.result, s.told, l), nil })
		}
		return list, err
	}
	for _, group := range report.Groups(trials) {
		list = append(list, func(l levels) (Case, error) {
			k := s.know(e.Subject, group)
			c := Case{Variables: group.Variables, Trials: k.trials, Decision: expect.Undecided}
			return decided(c, e, k, known{interval: func(float64) expect.Interval { return expect.Exact(e.Bound.Constant) }}, l), nil
		})
	}
	return append(list, s.unended(e)...), nil
}

// unended are the combinations of which no search ended.
func (s *searches) unended(e expect.Expectation) (list []decision) {
	ended := map[string]bool{}
	for _, one := range s.result.Searches {
		ended[one.ID] = true
	}
	for _, group := range report.Groups(s.result.Summary.Trials) {
		begun := slices.ContainsFunc(group.Trials, func(t result.Trial) bool { return t.Search != "" && !ended[t.Search] })
		known := slices.ContainsFunc(s.trials, func(t result.Trial) bool { return same(t.Variables, group.Variables) })
		if begun && !known && meets(group.Variables, e.About()) {
			list = append(list, func(levels) (Case, error) {
				return Case{Variables: group.Variables, Decision: expect.Undecided, Because: "its search did not end"}, nil
			})
		}
	}
	return list
}

// know is the median of what a combination's searches found. Its interval is from the least that one carried to the lowest
// rate that was too much for all of them; it is open above where nothing but the generator or the host bounded one.
func (s *searches) know(q expect.Quantity, group report.Group) known {
	k := known{}
	var values []float64
	low, high := math.Inf(1), 0.0
	open := false
	for _, t := range group.Trials {
		search := s.of[t.ID]
		f, _ := findingOf(search, q.Figure)
		k.trials = append(k.trials, t.ID)
		for _, one := range search.Deviations {
			if note := "not as the standard has it: " + one; !slices.Contains(k.notes, note) {
				k.notes = append(k.notes, note)
			}
		}
		if f.Value == nil {
			k.problem = fmt.Sprintf("the search with trial %s found none: %s", t.ID, f.Reason)
			return k
		}
		values = append(values, *f.Value)
		if low = min(low, *f.Value); f.Low != nil {
			low = min(low, *f.Low)
		}
		if t.Verdict != result.Clean {
			open = true
			continue
		}
		high = max(high, *f.Value, *f.High)
	}
	i := expect.Interval{Value: result.Median(values), Low: &low}
	if !open {
		i.High = &high
	}
	k.interval = func(float64) expect.Interval { return i }
	k.what = "in " + terminal.Count(len(values), "repeat") + " of the search"
	if open {
		k.what += ", bounded from above by nothing but the generator or noisy trials"
	}
	if len(values) < steadyTrials {
		k.notes = append(k.notes, fmt.Sprintf("it is of the time of %s: six or more tell how much the host changes from one to the next", terminal.Count(len(values), "repeat")))
	}
	return k
}

// told is what the search with a first trial found.
func (s *searches) told(q expect.Quantity, t result.Trial) (value, quiet float64, why string) {
	f, _ := findingOf(s.of[t.ID], q.Figure)
	if f.Value == nil {
		return 0, 0, f.Reason
	}
	return *f.Value, *f.Value, ""
}
