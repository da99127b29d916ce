package figure

import (
	"cmp"
	"math"
	"slices"

	"nines.dev/nines/report"
	"nines.dev/nines/result"
)

// publishedIn returns the result's published points for a figure, in the look of the series whose
// values contain all words of their name.
func (s *selection) publishedIn(kind string, f *Figure, scale float64) []overlaid {
	var list []overlaid
	if kind == "" {
		return nil
	}
	chosen := report.ChooseFigures(s.trials, s.maxima, s.published)
	for _, p := range s.published {
		if p.Figure != kind {
			continue
		}
		one := overlaid{label: p.Series, source: p.Source, match: -1}
		for _, c := range chosen {
			for _, curve := range c.Published {
				if c.Kind == kind && curve.Series == p.Series && curve.Source == p.Source && curve.Match < len(f.Series) {
					one.match = curve.Match
				}
			}
		}
		for _, point := range p.Points {
			one.points = append(one.points, Point{point[0], point[1] * scale})
		}
		list = append(list, one)
	}
	return list
}

// publishedCurves returns latencies by percentile from the result's published points and from
// percentiles files.
func (s *selection) publishedCurves(measured []measured) []overlaid {
	var list []overlaid
	for _, p := range s.published {
		if p.Figure != result.FigureLatency {
			continue
		}
		one := overlaid{label: p.Series, source: p.Source, match: -1}
		for _, point := range p.Points {
			if point[0] >= 1 {
				one.points = append(one.points, Point{point[0], max(point[1], 1) / 1000})
			}
		}
		for i, m := range measured {
			if m.label != "" && m.label == p.Series {
				one.match = i
			}
		}
		list = append(list, one)
	}
	for _, p := range s.Published {
		if p.Kind == HDR {
			list = append(list, overlaid{label: p.Label, source: p.Source, match: -1, points: p.points, marks: decades(p.points)})
		}
	}
	return list
}

// decades returns the points nearest to 10, 100, 1000 and so on: markers on hundreds of points
// would merge into a band.
func decades(points []Point) []Point {
	marks := []Point{}
	for x := 10.0; len(points) > 0 && x <= points[len(points)-1].X*1.2; x *= 10 {
		nearest := slices.MinFunc(points, func(a, b Point) int {
			return cmp.Compare(math.Abs(math.Log(a.X/x)), math.Abs(math.Log(b.X/x)))
		})
		if math.Abs(math.Log10(nearest.X/x)) < 0.2 {
			marks = append(marks, nearest)
		}
	}
	return marks
}
