package report

import (
	"math"
	"slices"
	"sort"

	"nines.dev/nines/result"
)

// The variables for the x axis of figures.
const (
	frameBytesKey    = "traffic.frame_bytes"
	ratePPSKey       = "traffic.rate_pps"
	rateBitsKey      = "traffic.rate_bits"
	rateOfMaximumKey = "traffic.rate_of_maximum"
)

// loadPercentiles are the percentiles plotted against the load.
var loadPercentiles = []string{"p50", "p99", "p99_99"}

// Chosen is a figure chosen by what varies in a result, with matching published points. Latency by
// percentile is not chosen: every page has it.
type Chosen struct {
	// Kind is one of package result's constants.
	Kind string `json:"kind"`
	// Percentile is the percentile in a figure of the load: "p99_99".
	Percentile string `json:"percentile,omitempty"`
	// Variables distinguish the series.
	Variables []string          `json:"variables"`
	Series    []Series          `json:"series"`
	Published []PublishedSeries `json:"published"`
}

// Series is a line of a figure: one combination of all variables except that of the x axis.
type Series struct {
	Variables map[string]any `json:"variables"`
	Points    []SeriesPoint  `json:"points"`
}

// SeriesPoint is the median of the repeats that are not invalid, between the smallest and largest; or of all
// if all are invalid.
type SeriesPoint struct {
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Group is an index into Groups; -1 for a maximum that rates are fractions of.
	Group int `json:"group"`
	// Fraction is the load as a fraction of the maximum; 0: unknown.
	Fraction float64 `json:"fraction,omitempty"`
	// Verdict is the worst of the repeats, of which Invalid are: those are left out, unless it is all of them.
	Verdict result.Verdict `json:"verdict"`
	Repeats int            `json:"repeats"`
	Invalid int            `json:"invalid"`
}

// AllInvalid reports whether no repeat did what was asked of it, so that the point is no measurement.
func (p SeriesPoint) AllInvalid() bool { return p.Invalid > 0 && p.Invalid == p.Repeats }

// above reports whether a point is higher than another: one that is no measurement never is.
func (p SeriesPoint) above(other SeriesPoint) bool {
	if p.AllInvalid() != other.AllInvalid() {
		return other.AllInvalid()
	}
	return p.Y > other.Y
}

// PublishedSeries is a published curve; Match is our series that its name means, -1 for none.
type PublishedSeries struct {
	result.Published
	Match int `json:"match"`
}

// Evidence is a trial with its details; nil if they are missing.
type Evidence struct {
	Trial   result.Trial
	Details *result.Details
}

// tellsNothing reports whether a figure of received over sent rates only repeats that all was received, but in trials
// that are no measurement.
func (c Chosen) tellsNothing() bool {
	return c.Kind == result.FigureRate && len(c.Published) == 0 && !slices.ContainsFunc(c.Series, func(s Series) bool {
		return slices.ContainsFunc(s.Points, func(p SeriesPoint) bool { return !p.AllInvalid() && p.Low < receivedShare*p.X })
	})
}

// receivedShare is the part of the sent packets from which on a loss is not to be seen in a figure: less than the width
// of a line.
const receivedShare = 0.995

// chooser chooses figures.
type chooser struct {
	groups    []Group
	details   map[string]*result.Details // by trial
	maxima    []Evidence
	published []result.Published
	variables []string
}

func newChooser(trials, maxima []Evidence, published []result.Published) *chooser {
	c := &chooser{details: map[string]*result.Details{}, maxima: maxima, published: published}
	list := make([]result.Trial, 0, len(trials))
	for _, t := range trials {
		list = append(list, t.Trial)
		c.details[t.Trial.ID] = t.Details
	}
	c.groups, c.variables = Groups(list), result.VariableNames(list)
	return c
}

// ChooseFigures chooses the figures of a result. Trial IDs must be unique.
func ChooseFigures(trials, maxima []Evidence, published []result.Published) []Chosen {
	c := newChooser(trials, maxima, published)
	figures := []Chosen{}
	add := func(f Chosen, wanted bool) {
		if f.Published = c.publishedIn(f); f.Percentile != "" && f.Percentile != "p50" {
			f.Published = []PublishedSeries{} // published loads are medians
		}
		if (wanted || len(f.Published) > 0) && len(f.Series) > 0 {
			figures = append(figures, f)
		}
	}
	rates, sizes := c.swept(ratePPSKey, rateBitsKey), c.swept(frameBytesKey)
	add(c.maximum(), !sizes)
	add(c.size(rates), sizes)
	add(c.rate(), rates)
	for _, percentile := range loadPercentiles {
		add(c.load(percentile), rates || c.swept(rateOfMaximumKey))
	}
	return figures
}

// swept reports whether one of the variables has several values.
func (c *chooser) swept(names ...string) bool {
	for _, name := range names {
		var first string
		for i, g := range c.groups {
			value := result.FormatVariable(g.Variables[name])
			if i == 0 {
				first = value
			} else if value != first {
				return true
			}
		}
	}
	return false
}

// build groups points into series by the variables that are not on the x axis.
type build struct {
	Chosen
	index map[string]int
	axes  []string
}

func (c *chooser) build(kind string, axes ...string) *build {
	b := &build{Chosen: Chosen{Kind: kind, Variables: []string{}, Series: []Series{}}, index: map[string]int{}, axes: axes}
	for _, name := range c.variables {
		if !slices.Contains(axes, name) {
			b.Variables = append(b.Variables, name)
		}
	}
	return b
}

// kept are the variables that distinguish series.
func (b *build) kept(variables map[string]any) map[string]any {
	kept := map[string]any{}
	for name, value := range variables {
		if !slices.Contains(b.axes, name) {
			kept[name] = value
		}
	}
	return kept
}

func (b *build) add(variables map[string]any, p SeriesPoint) {
	kept := b.kept(variables)
	key := variableKey(kept)
	at, ok := b.index[key]
	if !ok {
		at = len(b.Series)
		b.index[key] = at
		b.Series = append(b.Series, Series{Variables: kept})
	}
	b.Series[at].Points = append(b.Series[at].Points, p)
}

// done sorts the points and, with highest, keeps the highest of those at one place.
func (b *build) done(highest bool) Chosen {
	for i := range b.Series {
		points := b.Series[i].Points
		sort.SliceStable(points, func(i, j int) bool { return points[i].X < points[j].X })
		if !highest {
			continue
		}
		kept := points[:0:0]
		for _, p := range points {
			if last := len(kept) - 1; last >= 0 && kept[last].X == p.X {
				if p.above(kept[last]) {
					kept[last] = p
				}
				continue
			}
			kept = append(kept, p)
		}
		b.Series[i].Points = kept
	}
	return b.Chosen
}

// maximum plots the rate received at rate 0, one value per series.
func (c *chooser) maximum() Chosen {
	b := c.build(result.FigureMaximum, ratePPSKey, rateBitsKey, rateOfMaximumKey)
	c.eachMaximum(func(variables map[string]any, _ float64, p SeriesPoint) { b.add(variables, p) })
	return b.done(true)
}

// saturatedShare is the part of the sent packets below which what is received is the network's maximum, and not
// only what it was given.
const saturatedShare = 0.99

// size plots the maximum received rate over the frame size: at rate 0, or at any of the rates of a sweep that went
// beyond it. The highest of rates that were all received is only the highest that was given.
func (c *chooser) size(rates bool) Chosen {
	b := c.build(result.FigureSize, frameBytesKey, ratePPSKey, rateBitsKey, rateOfMaximumKey)
	c.eachMaximum(func(variables map[string]any, bytes float64, p SeriesPoint) {
		if p.X = bytes; bytes > 0 {
			b.add(variables, p)
		}
	})
	if len(b.Series) > 0 || !rates {
		return b.done(true)
	}
	type place struct {
		series string
		bytes  float64
	}
	placeOf := func(g Group) place { return place{variableKey(b.kept(g.Variables)), c.bytes(g.Trials[0])} }
	beyond := map[place]bool{}
	for i, g := range c.groups {
		if p, ok := c.point(i, received); ok && !p.AllInvalid() && p.Y < saturatedShare*p.X {
			beyond[placeOf(g)] = true
		}
	}
	for i, g := range c.groups {
		if p, ok := c.point(i, received); ok && beyond[placeOf(g)] && c.bytes(g.Trials[0]) > 0 {
			p.X = c.bytes(g.Trials[0])
			b.add(g.Variables, p)
		}
	}
	return b.done(true)
}

// rate plots received over sent packets per second.
func (c *chooser) rate() Chosen {
	b := c.build(result.FigureRate, ratePPSKey, rateBitsKey, rateOfMaximumKey)
	for i, g := range c.groups {
		if p, ok := c.point(i, received); ok && c.scheduled(g) {
			b.add(g.Variables, p)
		}
	}
	return b.done(false)
}

// load plots a latency percentile over the offered packets per second.
func (c *chooser) load(percentile string) Chosen {
	f := c.overRate(result.FigureLoad, LatencyFigure(percentile))
	f.Percentile = percentile
	return f
}

// OverRate plots a figure of the trials over the packets offered per second.
func OverRate(trials []Evidence, f Figure) Chosen {
	return newChooser(trials, nil, nil).overRate(f.Name, f)
}

// overRate leaves out trials at rate 0, whose rate is a result. A trial that did not offer its rate
// is invalid, not slow: its point says so.
func (c *chooser) overRate(kind string, f Figure) Chosen {
	b := c.build(kind, ratePPSKey, rateBitsKey, rateOfMaximumKey)
	for i, g := range c.groups {
		if p, ok := c.point(i, f); ok && c.scheduled(g) {
			b.add(g.Variables, p)
		}
	}
	return b.done(false)
}

// OverSize plots a figure of the trials over the frame size with FCS, in bytes.
func OverSize(trials []Evidence, f Figure) Chosen {
	c := newChooser(trials, nil, nil)
	b := c.build(f.Name, frameBytesKey)
	for i, g := range c.groups {
		if p, ok := c.point(i, f); ok && c.bytes(g.Trials[0]) > 0 {
			p.X = c.bytes(g.Trials[0])
			b.add(g.Variables, p)
		}
	}
	return b.done(false)
}

// point is a figure of a group over its offered rate.
func (c *chooser) point(group int, f Figure) (SeriesPoint, bool) {
	g := c.groups[group]
	drawn := g.Drawn()
	y := spreadOf(valuesOf(drawn, f))
	x := spreadOf(valuesOf(drawn, Figure{Of: func(t result.Trial) (float64, bool) { return t.OfferedPPS, true }}))
	if x == nil || y == nil {
		return SeriesPoint{}, false
	}
	p := SeriesPoint{X: x.Median, Y: y.Median, Low: y.Min, High: y.Max, Group: group, Verdict: worstOf(g.Trials),
		Repeats: len(g.Trials), Invalid: g.Verdicts()[result.Invalid]}
	if d := c.details[g.Trials[0].ID]; d != nil && d.Maximum != nil {
		p.Fraction = d.Maximum.Fraction
	}
	return p, true
}

func worstOf(trials []result.Trial) result.Verdict {
	worst := result.Clean
	for _, t := range trials {
		if t.Verdict == result.Invalid || worst == result.Clean {
			worst = t.Verdict
		}
	}
	return worst
}

// scheduled reports whether trials have a rate, or send as fast as possible.
func (c *chooser) scheduled(g Group) bool {
	if d := c.details[g.Trials[0].ID]; d != nil {
		return d.IntendedPPS > 0
	}
	return result.FormatVariable(g.Variables[ratePPSKey]) != "0"
}

// eachMaximum iterates over the groups at rate 0, and the maxima that rates are fractions of.
func (c *chooser) eachMaximum(do func(variables map[string]any, bytes float64, p SeriesPoint)) {
	for i, g := range c.groups {
		if p, ok := c.point(i, received); ok && !c.scheduled(g) && c.details[g.Trials[0].ID].OfTraffic() {
			p.X = 0
			do(g.Variables, c.bytes(g.Trials[0]), p)
		}
	}
	for _, m := range c.maxima {
		pps, ok := received.Of(m.Trial)
		if !ok {
			continue
		}
		bytes := number(m.Trial.Variables[frameBytesKey])
		if m.Details != nil && m.Details.FrameBytes > 0 {
			bytes = float64(m.Details.FrameBytes)
		}
		do(m.Trial.Variables, bytes, SeriesPoint{Y: pps, Low: pps, High: pps, Group: -1, Verdict: m.Trial.Verdict,
			Repeats: 1, Invalid: Group{Trials: []result.Trial{m.Trial}}.Verdicts()[result.Invalid]})
	}
}

// bytes is the size of a trial's frames; 0 if unknown.
func (c *chooser) bytes(t result.Trial) float64 {
	if d := c.details[t.ID]; d != nil && d.FrameBytes > 0 {
		return float64(d.FrameBytes)
	}
	return number(t.Variables[frameBytesKey])
}

// number is 0 if v is no number.
func number(v any) float64 {
	switch n := v.(type) {
	case float64:
		return n
	case int:
		return float64(n)
	}
	return 0
}

// nearest is the point of a series with the nearest x by ratio, among the valid ones if there are
// any; x is 0 in bars.
func (s Series) nearest(x float64) SeriesPoint {
	best := s.Points[0]
	distance := func(p SeriesPoint) float64 { return math.Abs(math.Log(max(p.X, 1) / max(x, 1))) }
	for _, p := range s.Points[1:] {
		worse := p.AllInvalid() && !best.AllInvalid()
		better := !p.AllInvalid() && best.AllInvalid()
		if better || !worse && distance(p) < distance(best) {
			best = p
		}
	}
	return best
}
