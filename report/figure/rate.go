package figure

import (
	"maps"
	"math"
	"slices"
	"strings"

	"nines.dev/nines/report"
	"nines.dev/nines/result"
)

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
	identities := identitiesOf(kept)
	names := [][]string{} // of the combinations that a series is of
	apart := len(kept) > mostLooks || len(s.Panels) > 0
	for i, label := range groupLabels(kept) {
		like := lines[i : i+1]
		if apart { // the panels have one legend
			like = lines
		}
		for j, merged := range mergeFlows(lines[i], like) {
			one := Series{Label: merged.names, Look: merged.flow, Shape: Steps, of: identities[i].with(merged.names)}
			for _, r := range merged.ranges {
				one.Points = append(one.Points, Point{r.X, (r.Low + r.High) / 2})
			}
			if len(kept) > 1 { // dashes show the flow, colour and markers the group
				one.Label, one.Look, one.Tone = label+", "+merged.names, i, j+1
				same := slices.IndexFunc(f.Series, func(other Series) bool {
					return other.of.part == merged.names && slices.EqualFunc(other.Points, one.Points, alikePoints)
				})
				if same >= 0 && !apart {
					names[same] = append(names[same], label)
					f.Series[same].Label = strings.Join(names[same], "; ") + ", " + merged.names
					continue
				}
				one.Marks = spread(one.Points, marksOfRate, float64(i)/float64(len(kept)))
			}
			if (s.Repeats == RepeatsBand || s.Repeats == RepeatsAuto && len(kept) <= 2) && len(kept[i].Drawn()) > 1 {
				one.Band = merged.ranges
				s.note("bands are minimum to maximum of the repeats, lines their middle")
			}
			f.Series, names = append(f.Series, one), append(names, []string{label})
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

// spread picks some of the points evenly, without the ends; shifted by a share of a step, so that lines on one another
// have their markers at different places.
func spread(points []Point, most int, shift float64) []Point {
	step := max(len(points)/most, 1)
	marks := []Point{}
	for i := max(int(shift*float64(step)), 1); i < len(points)-1; i += step {
		marks = append(marks, points[i])
	}
	return marks
}

// mergedFlow is a line of one flow, or of several that are the same.
type mergedFlow struct {
	names  string
	flow   int // the first of them
	ranges []Range
}

// sameRate is the part of a rate up to which two are the same: less than the width of a line.
const sameRate = 0.002

// mergeFlows draws flows that are the same in each second, in all of like, as one line: where nothing is lost, that is
// one line, not three on one another.
func mergeFlows(of [][]Range, like [][][]Range) []mergedFlow {
	var list []mergedFlow
	for j, flow := range flows {
		same := slices.IndexFunc(list, func(m mergedFlow) bool {
			return !slices.ContainsFunc(like, func(one [][]Range) bool { return !slices.EqualFunc(one[m.flow], one[j], alike) })
		})
		if same < 0 {
			list = append(list, mergedFlow{flow.name, j, of[j]})
			continue
		}
		list[same].names = strings.Join([]string{list[same].names, flow.name}, " = ")
	}
	return list
}

func alike(a, b Range) bool { return a.X == b.X && near(a.Low, b.Low) && near(a.High, b.High) }

func alikePoints(a, b Point) bool { return math.Abs(a.X-b.X) < leastPart && near(a.Y, b.Y) }

func near(a, b float64) bool { return math.Abs(a-b) <= sameRate*max(a, b) }

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
