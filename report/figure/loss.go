package figure

import (
	"maps"
	"slices"

	"nines.dev/nines/report"
	"nines.dev/nines/result"
)

// loss plots the loss over the offered rate (RFC 2544 section 26.3).
func (s *selection) loss() (*Figure, error) {
	if f := s.foundLoss(); f != nil {
		_, high, _ := f.extent()
		f.offeredAxis()
		f.Y = linearAxis("frame loss rate (%)", 0, max(high.Y, 0.01))
		return f, nil
	}
	chosen := report.OverRate(s.trials, report.Figure{Name: "loss", Of: s.lossPercent})
	if !overSeveral(chosen) {
		return nil, errNothing
	}
	f := &Figure{}
	s.add(f, chosen)
	_, high, _ := f.extent()
	f.offeredAxis()
	f.Y = linearAxis("loss (%)", 0, max(high.Y, 0.01))
	return f, nil
}

// foundLoss plots the results of searches for the frame loss rate, which count unsent packets as
// lost; nil without such searches.
func (s *selection) foundLoss() *Figure {
	var variables []map[string]any
	var values []map[float64][]float64
	index := map[string]int{}
	for _, search := range s.searches {
		for _, finding := range search.Findings {
			rate, ok := finding.Conditions["rate_pps"].(float64)
			if !ok || finding.Unit != "ratio" || finding.Value == nil {
				continue
			}
			key := report.Describe(search.Variables)
			at, seen := index[key]
			if !seen {
				at = len(values)
				index[key] = at
				variables, values = append(variables, search.Variables), append(values, map[float64][]float64{})
			}
			values[at][rate] = append(values[at][rate], 100**finding.Value)
		}
	}
	if len(values) == 0 {
		return nil
	}
	f := &Figure{}
	for i, label := range labelsOf(variables) {
		one := Series{Label: label, Look: i, of: identity{variables: variables[i]}}
		for _, rate := range slices.Sorted(maps.Keys(values[i])) {
			v := values[i][rate]
			one.Points = append(one.Points, Point{rate, result.Median(v)})
			one.Ranges = append(one.Ranges, Range{rate, slices.Min(v), slices.Max(v)})
		}
		f.Series = append(f.Series, one)
	}
	return f
}

func (s *selection) lossPercent(t result.Trial) (float64, bool) {
	if ratio, ok := s.searchLoss[t.ID]; ok {
		return 100 * ratio, true
	}
	if ratio := t.LossRatio(); ratio != nil {
		return 100 * *ratio, true
	}
	return 0, false
}
