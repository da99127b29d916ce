package figure

import "nines.dev/nines/report"

// maximumBars has a bar for each series, in order from the top.
func (s *selection) maximumBars(c report.Chosen) *Figure {
	f := &Figure{}
	s.add(f, c)
	ours := Series{Label: "measured", Shape: Bars}
	for i, one := range f.Series {
		f.Categories = append(f.Categories, one.Label)
		ours.Points = append(ours.Points, Point{one.Points[0].Y, float64(i)})
		if s.Repeats != RepeatsNone {
			ours.Ranges = append(ours.Ranges, Range{float64(i), one.Ranges[0].Low, one.Ranges[0].High})
		}
	}
	bySource := map[string]int{}
	list := []Series{ours}
	for _, p := range c.Published {
		at := p.Match
		if at < 0 {
			at = len(f.Categories)
			f.Categories = append(f.Categories, p.Series)
		}
		i, ok := bySource[p.Source]
		if !ok {
			f.Sources = append(f.Sources, p.Source)
			i = len(list)
			bySource[p.Source] = i
			list = append(list, Series{Label: "published", Source: len(f.Sources), Look: i, Shape: Bars})
		}
		list[i].Points = append(list[i].Points, Point{p.Points[0][1], float64(at)})
	}
	f.Series = list
	f.barAxes("most received")
	return f
}

// barAxes has values along x and categories down y.
func (f *Figure) barAxes(title string) {
	most := 0.0
	for _, s := range f.Series {
		for _, p := range s.Points {
			most = max(most, p.X)
		}
		for _, r := range s.Ranges {
			most = max(most, r.High)
		}
	}
	factor, prefix := scale(most)
	for i := range f.Series {
		for j := range f.Series[i].Points {
			f.Series[i].Points[j].X *= factor
		}
		for j := range f.Series[i].Ranges {
			f.Series[i].Ranges[j].Low *= factor
			f.Series[i].Ranges[j].High *= factor
		}
	}
	f.X = linearAxis(title+" ("+prefix+"pkt/s)", 0, most*factor)
	f.Y = Axis{Min: float64(len(f.Categories)) - 0.4, Max: -0.6}
}
