package figure

import (
	"slices"
	"strings"

	"nines.dev/nines/report"
)

// overSeveral reports whether there is a line to draw, not only points at one place.
func overSeveral(c report.Chosen) bool {
	return slices.ContainsFunc(c.Series, func(s report.Series) bool { return len(s.Points) > 1 })
}

// whiskersNote explains points with whiskers.
const whiskersNote = "points are the median of the repeats, whiskers minimum to maximum; those at one place are drawn beside one another"

// add adds a series for each of the report's.
func (s *selection) add(f *Figure, c report.Chosen) {
	var variables []map[string]any
	for _, one := range c.Series {
		variables = append(variables, one.Variables)
	}
	labels := labelsOf(variables)
	for i, one := range c.Series {
		line := Series{Label: labels[i], Look: i, Shape: Lines}
		invalid := Series{Label: strings.TrimSpace(labels[i] + invalidLabel), Look: i, Shape: Dots}
		line.of.variables, invalid.of.variables, invalid.of.invalid = one.Variables, one.Variables, true
		for _, p := range one.Points {
			of := &line
			if p.AllInvalid() {
				of = &invalid
			}
			of.Points = append(of.Points, Point{p.X, p.Y})
			if s.Repeats != RepeatsNone {
				of.Ranges = append(of.Ranges, Range{p.X, p.Low, p.High})
				if p.High > p.Low {
					s.note(whiskersNote)
				}
			}
		}
		for _, drawn := range []Series{line, invalid} {
			if len(drawn.Points) > 0 {
				f.Series = append(f.Series, drawn)
			}
		}
	}
}

// offeredAxis is logarithmic if rates are far apart.
func (f *Figure) offeredAxis() {
	low, high, _ := f.extent()
	factor, prefix := scale(high.X)
	f.scaleX(factor)
	title := "offered rate (" + prefix + "pkt/s)"
	if low.X > 0 && high.X/low.X > 30 {
		f.X = logAxis(title, low.X*factor, high.X*factor)
		f.X.Min, f.X.Max = f.X.Min/1.15, f.X.Max*1.15 // keep whiskers off the axis
	} else {
		f.X = linearAxis(title, 0, high.X*factor)
		f.X.Max *= 1.03
	}
}

func (f *Figure) scaleX(factor float64) {
	for i := range f.Series {
		for j := range f.Series[i].Points {
			f.Series[i].Points[j].X *= factor
		}
		for j := range f.Series[i].Ranges {
			f.Series[i].Ranges[j].X *= factor
		}
	}
}

// sizes makes the x axis of frame sizes.
func (f *Figure) sizes() {
	var sizes []float64
	for _, s := range f.Series {
		for _, p := range s.Points {
			if !slices.Contains(sizes, p.X) {
				sizes = append(sizes, p.X)
			}
		}
	}
	slices.Sort(sizes)
	f.X = sizeAxis(sizes)
}
