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

// loss is the loss over the offered rate (RFC 2544 section 26.3).
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

// foundLoss is what searches for the frame loss rate found, which count what the
// generator could not send as lost; nil without such searches.
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
		one := Series{Label: label, Look: i}
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
	if t.TxPackets == 0 {
		return 0, false
	}
	return 100 * float64(t.LostPackets) / float64(t.TxPackets), true
}

// latency is a percentile over the offered rate, or over the frame size where only
// that varies (002, figures 8 and 11).
func (s *selection) latency() (*Figure, error) {
	of := report.LatencyFigure(s.Percentile)
	if !slices.Contains(percentiles(), s.Percentile) {
		return nil, &SelectError{fmt.Sprintf("no percentile is called %q; there are %s", s.Percentile, strings.Join(percentiles(), ", "))}
	}
	name := strings.ReplaceAll(s.Percentile, "_", ".") + " latency (µs)"
	if s.Percentile == "max" {
		name = "greatest latency (µs)"
	}
	f := &Figure{}
	overRate, overSize := report.OverRate(s.trials, of), report.OverSize(s.trials, of)
	kind := result.FigureLoad
	switch {
	case overSeveral(overSize) && !overSeveral(overRate):
		s.add(f, overSize)
		kind = ""
	case overSeveral(overRate):
		s.add(f, overRate)
	default:
		return nil, errNothing
	}
	if s.Percentile == "p50" {
		f.overlay(s.publishedIn(kind, f, 1))
	}
	divide := 1000.0
	if low, _, _ := f.extent(); low.Y >= 1e6 {
		name, divide = strings.Replace(name, "µs", "ms", 1), 1e6
	}
	for i := range f.Series {
		one := &f.Series[i]
		for j := range one.Points {
			one.Points[j].Y /= divide
		}
		for j := range one.Ranges {
			one.Ranges[j].Low, one.Ranges[j].High = one.Ranges[j].Low/divide, one.Ranges[j].High/divide
		}
	}
	if kind == "" {
		f.sizes()
	} else {
		f.offeredAxis()
	}
	low, high, _ := f.extent()
	if s.MaxLatencyNs > 0 {
		high.Y = float64(s.MaxLatencyNs) / divide
	}
	f.Y = logAxis(name, max(low.Y, 0.001), high.Y)
	return f, nil
}

func percentiles() []string {
	list := []string{"min", "mean"}
	for _, p := range result.NamedPercentiles() {
		list = append(list, p.Name)
	}
	return append(list, "max")
}

// throughput is what a search found, or what was received of what was offered (001,
// figure 2), at most at each frame size (002, figures 9 and 12), or at most at all
// (001, figure 3).
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

// overSeveral tells whether there is a line to draw, and not only points at one place.
func overSeveral(c report.Chosen) bool {
	return slices.ContainsFunc(c.Series, func(s report.Series) bool { return len(s.Points) > 1 })
}

// add makes a series of each of the report's.
func (s *selection) add(f *Figure, c report.Chosen) {
	var variables []map[string]any
	for _, one := range c.Series {
		variables = append(variables, one.Variables)
	}
	labels := labelsOf(variables)
	for i, one := range c.Series {
		line := Series{Label: labels[i], Look: i, Shape: Lines}
		for _, p := range one.Points {
			line.Points = append(line.Points, Point{p.X, p.Y})
			if s.Repeats != RepeatsNone {
				line.Ranges = append(line.Ranges, Range{p.X, p.Low, p.High})
				if p.High > p.Low {
					s.note("points are the median of the repeats, whiskers from the least to the greatest")
				}
			}
		}
		f.Series = append(f.Series, line)
	}
}

// offeredAxis is logarithmic where rates are far apart.
func (f *Figure) offeredAxis() {
	low, high, _ := f.extent()
	factor, prefix := scale(high.X)
	f.scaleX(factor)
	title := "offered rate (" + prefix + "pkt/s)"
	if low.X > 0 && high.X/low.X > 30 {
		f.X = logAxis(title, low.X*factor, high.X*factor)
		f.X.Min, f.X.Max = f.X.Min/1.15, f.X.Max*1.15 // so that whiskers are not on the axis
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

// receivedAxes have the same unit, and a line where nothing is lost.
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

// sizes is the x axis of frame sizes.
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

// maximumBars has a bar for each series, in its order from above.
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

// barAxes lays values along x and categories down y.
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

// found is what searches found, by frame size or as bars; nil without searches for a
// rate.
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
		line := Series{Label: labels[i], Look: i, Shape: Lines}
		for _, k := range order {
			if k.variables != name {
				continue
			}
			v := values[k]
			line.Points = append(line.Points, Point{k.size, result.Median(v)})
			line.Ranges = append(line.Ranges, Range{k.size, slices.Min(v), slices.Max(v)})
			if len(v) > 1 {
				s.note("points are the median of the searches, whiskers from the least to the greatest")
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
