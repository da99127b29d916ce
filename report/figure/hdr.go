package figure

import (
	"cmp"
	"math"
	"strings"

	"nines.dev/nines/report"
	"nines.dev/nines/result"
)

// bandPerDecade is the resolution of the band around the repeats.
const bandPerDecade = 50

// mostBands is the most overlapping bands that remain visible.
const mostBands = 4

// measured is what a combination's trials recorded.
type measured struct {
	label string
	of    identity
	all   *result.Histogram // of all drawn trials together
	each  []*report.Curve   // of each trial
	// undisturbed is the latency of the drawn trials without the host's interruptions, from a share of their packets; nil
	// if one of them does not tell it.
	undisturbed *result.Histogram
	share       float64
}

// histograms reads the latencies of all groups.
func (s *selection) histograms() ([]measured, error) {
	var list []measured
	var groups []report.Group
	for _, g := range s.combinations() {
		m := measured{all: result.NewHistogram(), undisturbed: result.NewHistogram()}
		var shares []float64
		for _, t := range g.Drawn() {
			h, err := g.histograms(s.folder(t.ID))
			if s.missing(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if c := report.ThinCurve(h.Latency); c != nil {
				m.all.Merge(h.Latency)
				m.each = append(m.each, c)
			}
			if t.Undisturbed == nil || h.Undisturbed == nil {
				m.undisturbed = nil
			}
			if m.undisturbed != nil {
				m.undisturbed.Merge(h.Undisturbed)
				shares = append(shares, t.Undisturbed.Share)
			}
		}
		m.share = result.Median(shares)
		if len(m.each) > 0 {
			list, groups = append(list, m), append(groups, g.Group)
		}
	}
	for i, of := range identitiesOf(groups) {
		list[i].of = of
	}
	for i, label := range groupLabels(groups) {
		list[i].label = label
	}
	return list, nil
}

// hdr plots latency by percentile on two logarithmic axes (000, figures 6.2 to 6.6).
func (s *selection) hdr() (*Figure, error) {
	list, err := s.histograms()
	if err != nil {
		return nil, err
	}
	f := &Figure{}
	for i, m := range list {
		curve := report.ThinCurve(m.all)
		one := Series{Label: m.label, Look: i, Shape: Steps, Points: curvePoints(curve), of: m.of}
		for x := 10.0; x <= float64(curve.Count)*(1+1e-9); x *= 10 {
			if ns, ok := curve.At(x); ok {
				one.Marks = append(one.Marks, Point{x, us(ns)})
			}
		}
		switch {
		case len(m.each) < 2:
		case s.Repeats == RepeatsNone || s.Repeats == RepeatsAuto && len(list) > mostBands:
			s.note("lines are all packets of the repeats together")
		default:
			s.hdrRepeats(&one, m.each)
		}
		f.Series = append(f.Series, one)
	}
	if s.Undisturbed {
		f.Series = append(f.Series, s.undisturbed(list)...)
	}
	f.overlay(s.publishedCurves(list))
	low, high, ok := f.extent()
	if !ok {
		return f, nil
	}
	f.X = percentileAxis(high.X)
	f.Y = logAxis("latency (µs)", low.Y, s.highest(high.Y))
	return f, nil
}

// undisturbed are the curves without the host's interruptions of all combinations that tell them.
func (s *selection) undisturbed(list []measured) []Series {
	var all []Series
	for i, m := range list {
		curve := report.ThinCurve(m.undisturbed)
		if curve == nil {
			s.note("%s: what the latencies would be without the host's interruptions is not known", cmp.Or(m.label, "undisturbed"))
			continue
		}
		label := strings.TrimPrefix(m.label+", undisturbed", ", ")
		s.note("%s: without the host's interruptions, from %.0f %% of the packets", label, math.Floor(100*m.share))
		all = append(all, Series{Label: label, Look: len(list) + i, Shape: Steps, Points: curvePoints(curve), of: m.of.with("undisturbed")})
	}
	return all
}

// highest is the end of a latency axis in microseconds.
func (s *selection) highest(data float64) float64 {
	if s.MaxLatencyNs > 0 {
		return float64(s.MaxLatencyNs) / 1000
	}
	return data
}

// us is for a logarithmic axis: an unmeasurably short time is drawn at 1 ns.
func us(ns int64) float64 { return float64(max(ns, 1)) / 1000 }

func curvePoints(c *report.Curve) []Point {
	var points []Point
	for i, below := range c.Below {
		points = append(points, Point{float64(c.Count) / float64(c.Count-below), us(c.ValueNs[i])})
	}
	if last := points[len(points)-1]; last.X < float64(c.Count) {
		points = append(points, Point{float64(c.Count), last.Y})
	}
	return points
}

func (s *selection) hdrRepeats(one *Series, each []*report.Curve) {
	switch s.Repeats {
	case RepeatsLines:
		for _, c := range each {
			one.Thin = append(one.Thin, curvePoints(c))
		}
		s.note("thin lines are the repeats, the others are all their packets together")
	case RepeatsBand, RepeatsAuto:
		// Up to the percentile that each repeat has enough packets for.
		for step := 0; ; step++ {
			x := math.Pow(10, float64(step)/bandPerDecade)
			r := Range{X: x, Low: math.Inf(1)}
			for _, c := range each {
				ns, ok := c.At(x)
				if !ok {
					s.note("bands are minimum to maximum of the repeats, lines are all their packets together")
					return
				}
				r.Low, r.High = min(r.Low, us(ns)), max(r.High, us(ns))
			}
			one.Band = append(one.Band, r)
		}
	}
}
