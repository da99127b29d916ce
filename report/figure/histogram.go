package figure

import "slices"

// counted is packets by latency: how many up to which value.
type counted struct {
	label, source string
	of            identity
	binNs         int64 // of the source; 0: much narrower than any bin here
	values        []int64
	counts        []float64
}

// histogram plots packets by latency, in logarithmic bins or in bins of equal width (as 004 does: 0 to 1000 µs,
// logarithmic count).
func (s *selection) histogram() (*Figure, error) {
	list, err := s.histograms()
	if err != nil {
		return nil, err
	}
	var all []counted
	for _, m := range list {
		c := counted{label: m.label, of: m.of}
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
	if s.MaxLatencyNs > 0 {
		top = s.MaxLatencyNs
	}
	if logarithmic := (binning{}); !s.LinearBins && logarithmic.fits(all) {
		return s.staircases(all, "latency", top, logarithmic), nil
	}
	return s.staircases(all, "latency", top, equalBins(all, top)), nil
}

// staircases draws packets by a duration, up to top.
func (s *selection) staircases(all []counted, what string, top int64, bins binning) *Figure {
	f := &Figure{}
	unit, divide := "µs", 1000.0
	if top < 2000 {
		unit, divide = "ns", 1
	} else if top >= 20_000_000 && bins.widthNs > 0 {
		unit, divide = "ms", 1e6
	}
	low, most := top, 0.0
	for i, c := range all {
		one := Series{Label: c.label, Look: i, Shape: Steps, of: c.of}
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
			low = min(low, v)
			sums[bins.index(v)] += c.counts[j]
		}
		if beyond > 0 {
			s.note("%s packets%s are beyond the axis", numeral(beyond), of(c.label))
		}
		one.Points = staircase(sums, func(index int64) float64 { return bins.edge(index) / divide })
		for _, count := range sums {
			most = max(most, count)
		}
		f.Series = append(f.Series, one)
	}
	f.binAxes(bins, what, low, top, most, unit, divide)
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
func staircase(sums map[int64]float64, edge func(int64) float64) []Point {
	var used []int64
	for at := range sums {
		used = append(used, at)
	}
	slices.Sort(used)
	var points []Point
	for i, at := range used {
		if i == 0 || used[i-1] != at-1 {
			points = append(points, Point{edge(at), floor})
		}
		points = append(points, Point{edge(at), sums[at]})
		if i == len(used)-1 || used[i+1] != at+1 {
			points = append(points, Point{edge(at + 1), floor}, Point{edge(at + 1), 0})
		}
	}
	return points
}
