package figure

import (
	"fmt"
	"math"
	"slices"
)

// bins is roughly the number of bins of a histogram. The recording's are narrower than 1/1024 of
// their value, so each bin covers several whole ones and no comb appears.
const bins = 100

// counted is packets by latency: how many up to which value.
type counted struct {
	label, source string
	binNs         int64 // of the source; 0: much narrower than any bin here
	values        []int64
	counts        []float64
}

// histogram plots packets by latency in bins of equal width (facts of 004: 0 to 1000 µs,
// logarithmic count).
func (s *selection) histogram() (*Figure, error) {
	list, err := s.histograms()
	if err != nil {
		return nil, err
	}
	var all []counted
	for _, m := range list {
		c := counted{label: m.label}
		before := uint64(0)
		for _, p := range m.all.Curve() {
			c.values = append(c.values, p.ValueNs)
			c.counts = append(c.counts, float64(p.Count-before))
			before = p.Count
		}
		all = append(all, c)
		if len(m.each) > 1 {
			s.note("the packets of all repeats are counted together")
		}
	}
	for _, p := range s.Published {
		if p.Kind == Histogram {
			all = append(all, counted{label: p.Label, source: p.Source, binNs: p.binNs, values: p.values, counts: p.counts})
		}
	}
	if len(all) == 0 {
		return &Figure{}, nil
	}
	top := int64(1)
	for _, c := range all {
		top = max(top, slices.Max(c.values))
	}
	return s.staircases(all, "latency", top), nil
}

// staircases draws packets by a duration, up to top, or up to the chosen maximum.
func (s *selection) staircases(all []counted, what string, top int64) *Figure {
	f := &Figure{}
	widest := int64(1)
	for _, c := range all {
		widest = max(widest, c.binNs)
	}
	if s.MaxLatencyNs > 0 {
		top = s.MaxLatencyNs
	}
	bin := int64(math.Ceil(niceStep(float64(top) / bins)))
	bin = (bin + widest - 1) / widest * widest // whole bins of the published ones
	unit, divide := "µs", 1000.0
	if top < 2000 {
		unit, divide = "ns", 1
	} else if top >= 20_000_000 {
		unit, divide = "ms", 1e6
	}
	most := 0.0
	for i, c := range all {
		one := Series{Label: c.label, Look: i, Shape: Steps}
		if c.source != "" {
			if one.Source = slices.Index(f.Sources, c.source) + 1; one.Source == 0 {
				f.Sources = append(f.Sources, c.source)
				one.Source = len(f.Sources)
			}
		}
		sums, beyond := map[int64]float64{}, 0.0
		for j, v := range c.values {
			if v > top {
				beyond += c.counts[j]
				continue
			}
			sums[v/bin] += c.counts[j]
		}
		if beyond > 0 {
			s.note("%s packets%s are beyond the axis", numeral(beyond), of(c.label))
		}
		one.Points = staircase(sums, float64(bin)/divide)
		for _, count := range sums {
			most = max(most, count)
		}
		f.Series = append(f.Series, one)
	}
	end := math.Ceil(float64(top)/float64(bin)) * float64(bin) / divide
	f.X = linearAxis(what+" ("+unit+")", 0, end)
	f.X.Max = end
	f.X.Ticks = slices.DeleteFunc(f.X.Ticks, func(t Tick) bool { return t.At > f.X.Max*(1+1e-9) })
	f.Y = logAxis(fmt.Sprintf("packets in each %s %s", numeral(float64(bin)/divide), unit), 1, max(most, 10))
	f.Y.Min = floor
	for i, t := range f.Y.Ticks {
		if t.Label != "" && t.At >= 1e6 {
			f.Y.Ticks[i].Label = numeral(t.At/1e6) + " M"
		}
	}
	return f
}

func of(label string) string {
	if label == "" {
		return ""
	}
	return " of " + label
}

// floor is the end of a logarithmic count axis: below one packet.
const floor = 0.7

// staircase follows the tops of the bins, and goes down to the axis and up again around empty ones:
// a count of 0, which a logarithmic axis lacks, is a gap.
func staircase(sums map[int64]float64, width float64) []Point {
	var used []int64
	for at := range sums {
		used = append(used, at)
	}
	slices.Sort(used)
	var points []Point
	for i, at := range used {
		if i == 0 || used[i-1] != at-1 {
			points = append(points, Point{float64(at) * width, floor})
		}
		points = append(points, Point{float64(at) * width, sums[at]})
		if i == len(used)-1 || used[i+1] != at+1 {
			points = append(points, Point{float64(at+1) * width, floor}, Point{float64(at+1) * width, 0})
		}
	}
	return points
}
