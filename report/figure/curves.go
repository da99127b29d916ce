package figure

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	lineWidth   = vg.Length(1)
	otherWidth  = vg.Length(0.8) // width of published lines
	markRadius  = vg.Length(1.9)
	dotRadius   = vg.Length(1.1)
	whiskerHalf = vg.Length(1.6)
	bandAlpha   = 0.2
	thinAlpha   = 0.45
)

// color of a series of invalid trials is pale: its look may be that of valid ones in another panel.
func (s Series) color() color.RGBA {
	c := palette[s.Look%mostLooks]
	if s.of.invalid {
		return pale(c)
	}
	return c
}

// dash of a published series is always dotted, to distinguish it from ours.
func (s Series) dash() []vg.Length {
	if s.Source > 0 {
		return dotted[s.Look%len(dotted)]
	}
	if s.Tone > 0 {
		return dashes[(s.Tone-1)%mostLooks]
	}
	return dashes[s.Look%mostLooks]
}

func (s Series) line() draw.LineStyle {
	width := lineWidth
	if s.Source > 0 {
		width = otherWidth
	}
	return draw.LineStyle{Color: s.color(), Width: width, Dashes: s.dash()}
}

// data draws areas first and marks last, so that none hides another.
func (p panel) data() {
	for _, s := range p.figure.Series {
		p.band(s)
		for _, line := range s.Thin {
			style := draw.LineStyle{Color: light(s.color(), thinAlpha), Width: thin}
			p.stroke(style, line, s.Shape, 0)
		}
	}
	bars := 0
	for _, s := range p.figure.Series {
		if s.Shape == Bars {
			bars++
		}
	}
	bar := 0
	for _, s := range p.figure.Series {
		switch s.Shape {
		case Bars:
			p.bars(s, bar, bars)
			bar++
		case Dots:
		default:
			p.stroke(s.line(), s.Points, s.Shape, p.aside(s))
		}
	}
	for _, s := range p.figure.Series {
		if s.Shape != Bars {
			p.marks(s)
		}
	}
}

func (p panel) band(s Series) {
	var low, high []vg.Point
	for _, r := range s.Band {
		if a, b := p.at(r.X, r.Low), p.at(r.X, r.High); drawable(a) && drawable(b) {
			low, high = append(low, a), append(high, b)
		}
	}
	if len(low) < 2 {
		return
	}
	for i := len(high) - 1; i >= 0; i-- {
		low = append(low, high[i])
	}
	p.FillPolygon(light(s.color(), bandAlpha), p.ClipPolygonXY(low))
}

// stroke leaves gaps where a value does not exist on a logarithmic axis.
func (p panel) stroke(style draw.LineStyle, points []Point, shape Shape, aside vg.Length) {
	var run []vg.Point
	flush := func() {
		if shape == Steps {
			run = steps(run)
		}
		if len(run) > 1 {
			p.StrokeLines(style, p.ClipLinesXY(run)...)
		}
		run = nil
	}
	for _, point := range points {
		at := p.at(point.X, point.Y)
		if at.X += aside; !drawable(at) {
			flush()
			continue
		}
		run = append(run, at)
	}
	flush()
}

func drawable(p vg.Point) bool { return !math.IsNaN(float64(p.X)) && !math.IsNaN(float64(p.Y)) }

// steps holds each value until the next begins.
func steps(points []vg.Point) []vg.Point {
	var out []vg.Point
	for i, at := range points {
		if i > 0 && at.Y != points[i-1].Y {
			out = append(out, vg.Point{X: at.X, Y: points[i-1].Y})
		}
		out = append(out, at)
	}
	return out
}

func (p panel) marks(s Series) {
	style := draw.LineStyle{Color: s.color(), Width: thin * 1.4}
	aside := p.aside(s)
	for _, r := range s.Ranges {
		low, high := p.at(r.X, r.Low), p.at(r.X, r.High)
		within := p.ContainsX(low.X)
		low.X, high.X = low.X+aside, high.X+aside
		if r.High > r.Low && drawable(low) && drawable(high) && within {
			p.StrokeLines(style, p.ClipLinesY([]vg.Point{low, high},
				[]vg.Point{{X: low.X - whiskerHalf, Y: low.Y}, {X: low.X + whiskerHalf, Y: low.Y}},
				[]vg.Point{{X: low.X - whiskerHalf, Y: high.Y}, {X: low.X + whiskerHalf, Y: high.Y}})...)
		}
	}
	places := s.Marks
	if places == nil && s.marked() {
		places = s.Points
	}
	for _, point := range places {
		if at := p.at(point.X, point.Y); drawable(at) && p.Contains(at) {
			at.X += aside
			p.mark(s, at)
		}
	}
}

// mostAside is how far whiskers at one place stand from one another, and from the place at most.
const (
	mostAside   = vg.Length(3.6)
	totalAsides = vg.Length(14)
)

// aside is how far beside its place a series is drawn, so that its whiskers do not lie on those of others.
func (p panel) aside(s Series) vg.Length {
	var looks []int
	for _, other := range p.figure.Series {
		if slices.ContainsFunc(other.Ranges, func(r Range) bool { return r.High > r.Low }) && !slices.Contains(looks, other.Look) {
			looks = append(looks, other.Look)
		}
	}
	at := slices.Index(looks, s.Look)
	if at < 0 || s.Source > 0 || s.Shape == Bars {
		return 0
	}
	return (vg.Length(at) - vg.Length(len(looks)-1)/2) * min(mostAside, totalAsides/vg.Length(len(looks)))
}

// marked reports whether there are markers: steps, which have a point every few pixels, have markers
// only if some were chosen.
func (s Series) marked() bool {
	if s.Marks != nil {
		return len(s.Marks) > 0
	}
	return s.Shape != Steps
}

// mark is filled for ours and hollow for published points. Dots are numerous, and only outlined.
func (p panel) mark(s Series, at vg.Point) {
	path := func(radius vg.Length) vg.Path { return markers[s.Look%mostLooks](at, radius) }
	switch {
	case s.Shape == Dots:
		p.SetLineStyle(draw.LineStyle{Color: light(s.color(), 0.8), Width: thin})
		p.Stroke(path(dotRadius))
	case s.Source > 0:
		p.SetColor(color.White)
		p.Fill(path(markRadius))
		p.SetLineStyle(draw.LineStyle{Color: s.color(), Width: thin * 1.6})
		p.Stroke(path(markRadius))
	default:
		p.SetColor(s.color())
		p.Fill(path(markRadius))
	}
}

// bars are horizontal, so that their names can be long: Points have the value in X and the category
// in Y.
func (p panel) bars(s Series, index, of int) {
	thick := 0.8 / float64(of)
	for i, point := range s.Points {
		middle := point.Y - 0.4 + thick*(float64(index)+0.5)
		a, b := p.at(max(p.figure.X.Min, 0), middle-thick*0.45), p.at(point.X, middle+thick*0.45)
		corners := p.ClipPolygonXY([]vg.Point{a, {X: b.X, Y: a.Y}, b, {X: a.X, Y: b.Y}})
		if s.Source > 0 {
			p.StrokeLines(draw.LineStyle{Color: s.color(), Width: thin * 1.6, Dashes: s.dash()}, append(corners, corners[0]))
		} else {
			p.FillPolygon(s.color(), corners)
		}
		if i < len(s.Ranges) && s.Ranges[i].High > s.Ranges[i].Low {
			r := s.Ranges[i]
			low, high := p.at(r.Low, middle), p.at(r.High, middle)
			style := draw.LineStyle{Color: ink, Width: thin * 1.4}
			p.StrokeLine2(style, low.X, low.Y, high.X, high.Y)
			for _, end := range []vg.Point{low, high} {
				p.StrokeLine2(style, end.X, end.Y-whiskerHalf, end.X, end.Y+whiskerHalf)
			}
		}
	}
}
