package figure

import (
	"cmp"
	"maps"
	"slices"

	"nines.dev/nines/report"
	"nines.dev/nines/result"
)

// mostDots is the most dots drawn per curve: more make large files, and blots.
const mostDots = 5000

// worst plots the slowest packets by send time (000, figures 6.4, 6.7, 6.8).
func (s *selection) worst() (*Figure, error) {
	f := &Figure{}
	var drawn []report.Group
	for _, g := range s.groups() {
		one := Series{Shape: Dots, Look: len(f.Series)}
		for _, t := range g.Drawn() {
			outliers, err := s.folder(t.ID).Outliers()
			if s.missing(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			for _, o := range outliers {
				one.Points = append(one.Points, Point{float64(o.IntendedNs) / 1e9, us(o.LatencyNs)})
			}
			if len(g.Drawn()) > 1 && len(outliers) > 0 {
				s.note("the slowest packets of each repeat are drawn over one another")
			}
		}
		if len(one.Points) > 0 {
			one.Points = s.slowest(one.Points)
			f.Series, drawn = append(f.Series, one), append(drawn, g)
		}
	}
	for i, label := range groupLabels(drawn) {
		f.Series[i].Label = label
	}
	var published []overlaid
	for _, p := range s.Published {
		if p.Kind == Worst {
			published = append(published, overlaid{label: p.Label, source: p.Source, match: -1, shape: Dots, points: s.slowest(p.points)})
		}
	}
	f.overlay(published)
	low, high, ok := f.extent()
	if !ok {
		return f, nil
	}
	f.X = linearAxis("time of sending (s)", 0, high.X)
	f.X.Max = max(high.X, 1e-3)
	f.X.Ticks = slices.DeleteFunc(f.X.Ticks, func(t Tick) bool { return t.At > f.X.Max })
	top := s.highest(high.Y)
	if top/low.Y > 30 {
		f.Y = logAxis("latency (µs)", low.Y, top)
		return f, nil
	}
	title := "latency (µs)"
	if top >= 10_000 {
		title, top = "latency (ms)", top/1000
		for i := range f.Series {
			for j := range f.Series[i].Points {
				f.Series[i].Points[j].Y /= 1000
			}
		}
	}
	f.Y = linearAxis(title, 0, top)
	return f, nil
}

func (s *selection) slowest(points []Point) []Point {
	if len(points) <= mostDots {
		return points
	}
	sorted := slices.Clone(points)
	slices.SortStableFunc(sorted, func(a, b Point) int { return cmp.Compare(b.Y, a.Y) })
	s.note("of more, the %s slowest packets are drawn", numeral(mostDots))
	return sorted[:mostDots]
}

// flows are the columns of rate.csv.
var flows = []struct {
	name string
	of   func(result.Rate) uint64
}{
	{"offered", func(r result.Rate) uint64 { return r.Offered }},
	{"sent", func(r result.Rate) uint64 { return r.Sent }},
	{"received", func(r result.Rate) uint64 { return r.Received }},
}

// rate plots packets per second over time: offered, sent, received.
func (s *selection) rate() (*Figure, error) {
	f := &Figure{}
	groups := s.groups()
	details := map[string]*result.Details{} // of trials by ID
	for _, t := range s.trials {
		details[t.Trial.ID] = t.Details
	}
	var kept []report.Group
	var lines [][][]Range
	for _, g := range groups {
		of, err := s.rates(g, details)
		if err != nil {
			return nil, err
		}
		if len(of[0]) > 0 {
			kept, lines = append(kept, g), append(lines, of)
		}
	}
	labels := groupLabels(kept)
	for i, of := range lines {
		for j, flow := range flows {
			one := Series{Label: flow.name, Look: j, Shape: Steps}
			for _, r := range of[j] {
				one.Points = append(one.Points, Point{r.X, (r.Low + r.High) / 2})
			}
			if len(kept) > 1 { // dashes show the flow, colour and markers the group
				one.Label, one.Look, one.Tone = labels[i]+", "+flow.name, i, j+1
				one.Marks = spread(one.Points, marksOfRate)
			}
			if (s.Repeats == RepeatsBand || s.Repeats == RepeatsAuto && len(kept) <= 2) && len(kept[i].Drawn()) > 1 {
				one.Band = of[j]
				s.note("bands are minimum to maximum of the repeats, lines their middle")
			}
			f.Series = append(f.Series, one)
		}
	}
	var published []overlaid
	for _, p := range s.Published {
		if p.Kind == Rate {
			published = append(published, overlaid{label: p.Label, source: p.Source, match: -1, shape: Steps, points: p.points})
			s.note("published rates count whole seconds, also where the last was not")
		}
	}
	f.overlay(published)
	_, high, ok := f.extent()
	if !ok {
		return f, nil
	}
	f.X = linearAxis("time (s)", 0, high.X)
	f.X.Max = max(high.X, 1)
	f.X.Ticks = slices.DeleteFunc(f.X.Ticks, func(t Tick) bool { return t.At > f.X.Max })
	f.Y = f.rateAxis("packet rate", 0, high.Y)
	return f, nil
}

// rateAxis scales all values to a prefix of pkt/s.
func (f *Figure) rateAxis(title string, low, high float64) Axis {
	factor, prefix := scale(high)
	for i := range f.Series {
		s := &f.Series[i]
		for j := range s.Points {
			s.Points[j].Y *= factor
		}
		for j := range s.Marks {
			s.Marks[j].Y *= factor
		}
		for _, list := range [][]Range{s.Ranges, s.Band} {
			for j := range list {
				list[j].Low, list[j].High = list[j].Low*factor, list[j].High*factor
			}
		}
	}
	return linearAxis(title+" ("+prefix+"pkt/s)", low*factor, high*factor)
}

// marksOfRate is the number of markers on a line of seconds.
const marksOfRate = 6

// spread picks some of the points evenly, without the ends.
func spread(points []Point, most int) []Point {
	step := max(len(points)/most, 1)
	marks := []Point{}
	for i := max(step/2, 1); i < len(points)-1; i += step {
		marks = append(marks, points[i])
	}
	return marks
}

// rates returns the smallest and largest of a group's repeats in each second, by flow; a final
// point repeats the last one at the end of the trial. An incomplete last second is scaled by its
// length; packets that arrived after the end have no rate.
func (s *selection) rates(g report.Group, details map[string]*result.Details) ([][]Range, error) {
	seconds := make([]map[int]Range, len(flows))
	for j := range flows {
		seconds[j] = map[int]Range{}
	}
	end := 0.0
	for _, t := range g.Drawn() {
		rows, err := s.folder(t.ID).Rates()
		if s.missing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			part := 1.0
			if d := details[t.ID]; d != nil && d.DurationNs > 0 {
				part = min(1, float64(d.DurationNs)/1e9-float64(row.Second))
			}
			if part < leastPart {
				continue
			}
			end = max(end, float64(row.Second)+part)
			for j, flow := range flows {
				pps := float64(flow.of(row)) / part
				r, seen := seconds[j][row.Second]
				if !seen {
					r = Range{float64(row.Second), pps, pps}
				}
				r.Low, r.High = min(r.Low, pps), max(r.High, pps)
				seconds[j][row.Second] = r
			}
		}
	}
	of := make([][]Range, len(flows))
	for j := range flows {
		for _, second := range slices.Sorted(maps.Keys(seconds[j])) {
			of[j] = append(of[j], seconds[j][second])
		}
		if n := len(of[j]); n > 0 {
			of[j] = append(of[j], Range{end, of[j][n-1].Low, of[j][n-1].High})
		}
	}
	return of, nil
}

// leastPart is the shortest part of a second that gives a rate.
const leastPart = 0.05
