package figure

import (
	"cmp"
	"slices"

	"nines.dev/nines/report"
	"nines.dev/nines/result"
)

// mostDots is the most dots drawn per curve: more make large files, and blots.
const mostDots = 5000

// Of a trial the slowest packets are drawn, so many in all: outliers.csv of a short trial also has ordinary ones.
const (
	slowestShare = 100 // one in so many
	leastSlowest = 50
)

// slowestOf is how many packets of a trial are drawn.
func (s *selection) slowestOf(t result.Trial) int {
	if s.Slowest > 0 {
		return s.Slowest
	}
	return max(leastSlowest, int(t.RxPackets/slowestShare))
}

// worst plots the slowest packets by send time (000, figures 6.4, 6.7, 6.8).
func (s *selection) worst() (*Figure, error) {
	f := &Figure{}
	var drawn []report.Group
	for _, g := range s.combinations() {
		one := Series{Shape: Dots, Look: len(f.Series)}
		for _, t := range g.Drawn() {
			outliers, err := s.folder(t.ID).Outliers()
			if s.missing(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			outliers = slices.DeleteFunc(outliers, func(o result.Outlier) bool { return !g.has(o) })
			if most := s.slowestOf(t); len(outliers) > most {
				slices.SortStableFunc(outliers, func(a, b result.Outlier) int { return cmp.Compare(b.LatencyNs, a.LatencyNs) })
				outliers = outliers[:most]
				if s.Slowest == 0 {
					s.note("of each trial the slowest packet of each %s is drawn, and at least the %d slowest", numeral(slowestShare), leastSlowest)
				} else {
					s.note("of each trial the %s slowest packets are drawn", numeral(float64(most)))
				}
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
			f.Series, drawn = append(f.Series, one), append(drawn, g.Group)
		}
	}
	identities := identitiesOf(drawn)
	for i, label := range groupLabels(drawn) {
		f.Series[i].Label, f.Series[i].of = label, identities[i]
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
	f.timeAxis("time of sending (s)", high.X)
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

// timeAxis ends where the last point is.
func (f *Figure) timeAxis(title string, last float64) {
	f.X = linearAxis(title, 0, last)
	f.X.Max = max(last, 1e-3)
	f.X.Ticks = slices.DeleteFunc(f.X.Ticks, func(t Tick) bool { return t.At > f.X.Max })
}

// slowest are as many of a curve's packets as are drawn.
func (s *selection) slowest(points []Point) []Point {
	return s.highestOf(points, "of more, the %s slowest packets are drawn")
}

// longest are as many of a thread's interruptions as are drawn.
func (s *selection) longest(points []Point) []Point {
	return s.highestOf(points, "of more, the %s longest interruptions of a thread are drawn")
}

func (s *selection) highestOf(points []Point, note string) []Point {
	if len(points) <= mostDots {
		return points
	}
	sorted := slices.Clone(points)
	slices.SortStableFunc(sorted, func(a, b Point) int { return cmp.Compare(b.Y, a.Y) })
	s.note(note, numeral(mostDots))
	return sorted[:mostDots]
}
