package figure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nines.dev/nines/report"
	"nines.dev/nines/result"
)

// throughput plots what a search found, or received over offered rates (001, figure 2), or the
// maximum at each frame size (002, figures 9 and 12), or the overall maximum (001, figure 3).
func (s *selection) throughput() (*Figure, error) {
	if f := s.found(); f != nil {
		return f, nil
	}
	chosen := map[string]report.Chosen{}
	for _, c := range report.ChooseFigures(s.trials, s.maxima, s.published) {
		chosen[c.Kind] = c
	}
	f := &Figure{}
	if c, ok := chosen[result.FigureSize]; ok && overSeveral(c) {
		s.add(f, c)
		f.overlay(s.publishedIn(result.FigureSize, f, 1))
		f.sizes()
		_, high, _ := f.extent()
		f.Y = f.rateAxis("throughput", 0, high.Y)
		return f, nil
	}
	if c, ok := chosen[result.FigureRate]; ok && overSeveral(c) {
		s.add(f, c)
		f.overlay(s.publishedIn(result.FigureRate, f, 1))
		return f, f.receivedAxes()
	}
	if c, ok := chosen[result.FigureMaximum]; ok {
		return s.maximumBars(c), nil
	}
	return nil, errNothing
}

// found plots what searches found, by frame size or as bars; nil without searches for a rate.
func (s *selection) found() *Figure {
	type key struct {
		variables string
		size      float64
	}
	values := map[key][]float64{}
	var order []key
	names := map[key]map[string]any{}
	sizes := map[float64]bool{}
	for _, search := range s.searches {
		for _, finding := range search.Findings {
			if finding.Unit != "packets/s" || finding.Value == nil {
				continue
			}
			variables := maps.Clone(search.Variables)
			variables["search"] = finding.Name
			size, ok := finding.Conditions["frame_bytes"].(float64)
			if !ok {
				size, ok = variables[sizeKey].(float64)
			}
			if ok {
				delete(variables, sizeKey)
				sizes[size] = true
			}
			k := key{report.Describe(variables), size}
			if _, seen := values[k]; !seen {
				order = append(order, k)
				names[k] = variables
			}
			values[k] = append(values[k], *finding.Value)
			if finding.AtLeast {
				s.note("%s is at least the value shown: %s", finding.Name, finding.Reason)
			}
			if !search.Conformant {
				s.note("not conformant: %s", strings.Join(search.Deviations, "; "))
			}
		}
	}
	if len(order) == 0 {
		return nil
	}
	var series []string
	var variables []map[string]any
	for _, k := range order {
		if !slices.Contains(series, k.variables) {
			series, variables = append(series, k.variables), append(variables, names[k])
		}
	}
	labels := labelsOf(variables)
	f := &Figure{}
	bars := Series{Shape: Bars}
	for i, name := range series {
		line := Series{Label: labels[i], Look: i, Shape: Lines, of: identity{variables: variables[i]}}
		for _, k := range order {
			if k.variables != name {
				continue
			}
			v := values[k]
			line.Points = append(line.Points, Point{k.size, result.Median(v)})
			line.Ranges = append(line.Ranges, Range{k.size, slices.Min(v), slices.Max(v)})
			if len(v) > 1 {
				s.note("points are the median of the searches, whiskers minimum to maximum; those at one place are drawn beside one another")
			}
		}
		slices.SortStableFunc(line.Points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
		f.Series = append(f.Series, line)
		bars.Points = append(bars.Points, Point{line.Points[0].Y, float64(i)})
		bars.Ranges = append(bars.Ranges, Range{float64(i), line.Ranges[0].Low, line.Ranges[0].High})
	}
	if len(sizes) > 1 {
		f.overlay(s.publishedIn(result.FigureSize, f, 1))
		f.sizes()
		_, high, _ := f.extent()
		f.Y = f.rateAxis("throughput", 0, high.Y)
		return f
	}
	for i, label := range labels {
		if label == "" {
			labels[i] = fmt.Sprint(variables[i]["search"])
		}
	}
	f = &Figure{Series: []Series{bars}, Categories: labels}
	f.barAxes("throughput")
	return f
}

// receivedAxes have the same unit, and a guide for no loss.
func (f *Figure) receivedAxes() error {
	low, high, _ := f.extent()
	least, most := min(low.X, low.Y), max(high.X, high.Y)
	f.offeredAxis()
	f.Y = f.rateAxis("received", 0, high.Y)
	if f.X.Log && low.Y > 0 {
		factor, prefix := scale(high.Y)
		f.Y = logAxis("received ("+prefix+"pkt/s)", low.Y*factor, high.Y*factor)
	}
	fx, _ := scale(high.X)
	fy, _ := scale(high.Y)
	if !f.X.Log {
		least = 0
	}
	f.Guides = append(f.Guides, []Point{{least * fx, least * fy}, {most * fx, most * fy}})
	f.Notes = append(f.Notes, "the grey line is where nothing is lost")
	return nil
}
