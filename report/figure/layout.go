package figure

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"nines.dev/nines/exit"
)

const (
	majorTick = vg.Length(3)
	minorTick = vg.Length(1.7)
	thin      = vg.Length(0.5)
	gap       = vg.Length(3)
	// edge keeps texts off the figure's edges, where a page or a frame begins.
	edge = vg.Length(2)
	// middle raises a text so that its digits, not its whole height, are centred.
	middle = vg.Length(0.7)
	// leastData is the smallest readable area, in points.
	leastData = vg.Length(40)
)

// panel is the data area with its axes.
type panel struct {
	draw.Canvas
	figure *Figure
	// noX and noY leave out the numbers of an axis, which another panel has.
	noX, noY bool
}

// paint draws the whole figure: the legend above the data and the sources below, so that neither
// hides any of it.
func (f *Figure) paint(c draw.Canvas) error {
	c.SetColor(light(palette[0], 0)) // no background: papers and slides have their own
	whole := c.Size()
	c = draw.Crop(c, edge, -edge, edge, -edge)
	legend, sources := f.legend(c.Size().X), f.sourceLines(c.Size().X)
	inner := draw.Crop(c, f.left(), -f.right(), f.below()+sources.height(), -legend.height()-f.above())
	panels := f.areas(inner)
	if least := panels[0].Size(); least.X < leastData || least.Y < leastData {
		return exit.Wrongf("a figure of %s leaves no room for its data beside the axes and a legend of %d lines, in %d panels; make it larger with --width and --height, or draw fewer curves with --where",
			millimetres(whole), legend.rows, len(panels))
	}
	for i, p := range panels {
		p.grid()
		p.data()
		p.frame()
		if f.Panels != nil {
			p.name(f.Panels[i].Title)
		}
	}
	panel{Canvas: inner, figure: f}.titles(c, sources.height())
	legend.draw(c)
	sources.draw(c)
	return nil
}

func millimetres(size vg.Point) string {
	return fmt.Sprintf("%.0f mm × %.0f mm", float64(size.X/vg.Millimeter), float64(size.Y/vg.Millimeter))
}

// left is the margin for the numbers and the title of the y axis.
func (f *Figure) left() vg.Length {
	widest := vg.Length(0)
	for _, label := range f.yLabels() {
		widest = max(widest, textWidth(label, tickSize))
	}
	room := widest + majorTick + gap
	if f.Y.Title != "" {
		room += titleSize*1.2 + gap
	}
	return room
}

func (f *Figure) yLabels() []string {
	if len(f.Categories) > 0 {
		return f.Categories
	}
	var labels []string
	for _, t := range f.Y.Ticks {
		labels = append(labels, t.Label)
	}
	return labels
}

func (f *Figure) right() vg.Length {
	room := vg.Length(2)
	for _, t := range f.X.Ticks {
		beyond := textWidth(t.Label, tickSize)/2 - vg.Length(1-f.X.place(t.At))*100
		room = max(room, beyond+1)
	}
	return room
}

func (f *Figure) below() vg.Length { return majorTick + tickSize*1.3 + titleSize*1.3 + 1 }

func (f *Figure) above() vg.Length { return tickSize * 0.6 }

// place is a value's place on the axis, from 0 to 1; NaN if it has none.
func (a Axis) place(v float64) float64 {
	if a.Log {
		if v <= 0 {
			return math.NaN()
		}
		return math.Log(v/a.Min) / math.Log(a.Max/a.Min)
	}
	return (v - a.Min) / (a.Max - a.Min)
}

func (p panel) at(x, y float64) vg.Point {
	return vg.Point{X: p.X(p.figure.X.place(x)), Y: p.Y(p.figure.Y.place(y))}
}

func (p panel) grid() {
	style := draw.LineStyle{Color: grid, Width: thin}
	for _, t := range p.fitting(p.figure.X.Ticks) {
		if x := p.X(p.figure.X.place(t.At)); t.Label != "" {
			p.StrokeLine2(style, x, p.Min.Y, x, p.Max.Y)
		}
	}
	for _, t := range p.figure.Y.Ticks {
		if y := p.Y(p.figure.Y.place(t.At)); t.Label != "" {
			p.StrokeLine2(style, p.Min.X, y, p.Max.X, y)
		}
	}
	for _, guide := range p.figure.Guides {
		line := make([]vg.Point, 0, len(guide))
		for _, g := range guide {
			line = append(line, p.at(g.X, g.Y))
		}
		p.StrokeLines(draw.LineStyle{Color: grey, Width: thin}, p.ClipLinesXY(line)...)
	}
}

func (p panel) frame() {
	style := draw.LineStyle{Color: ink, Width: thin}
	p.StrokeLines(style, []vg.Point{{X: p.Min.X, Y: p.Max.Y}, p.Min, {X: p.Max.X, Y: p.Min.Y}})
	length := func(t Tick) vg.Length {
		if t.Label == "" {
			return minorTick
		}
		return majorTick
	}
	var widths, heights, xs, ys []float64
	xTicks := p.fitting(p.figure.X.Ticks)
	for _, t := range xTicks {
		x := p.X(p.figure.X.place(t.At))
		p.StrokeLine2(style, x, p.Min.Y, x, p.Min.Y-length(t))
		if t.Label != "" {
			xs, widths = append(xs, float64(x)), append(widths, float64(p.labelWidth(t)))
		}
	}
	for _, t := range p.figure.Y.Ticks {
		y := p.Y(p.figure.Y.place(t.At))
		p.StrokeLine2(style, p.Min.X, y, p.Min.X-length(t), y)
		if t.Label != "" {
			ys, heights = append(ys, float64(y)), append(heights, tickSize*1.1)
		}
	}
	p.labels(xTicks, everySo(xs, widths), func(t Tick) {
		if p.noX {
			return
		}
		p.FillText(textStyle(tickSize, draw.XCenter, draw.YTop), vg.Point{X: p.X(p.figure.X.place(t.At)), Y: p.Min.Y - majorTick - 1}, t.Label)
	})
	p.labels(p.figure.Y.Ticks, everySo(ys, heights), func(t Tick) {
		if p.noY {
			return
		}
		p.FillText(textStyle(tickSize, draw.XRight, draw.YCenter), vg.Point{X: p.Min.X - majorTick - 1.5, Y: p.Y(p.figure.Y.place(t.At)) + middle}, t.Label)
	})
	for i, name := range p.figure.Categories {
		p.FillText(textStyle(tickSize, draw.XRight, draw.YCenter), vg.Point{X: p.Min.X - majorTick - 1.5, Y: p.Y(p.figure.Y.place(float64(i))) + middle}, name)
	}
}

func (p panel) labelWidth(t Tick) vg.Length { return textWidth(t.Label, tickSize) + gap }

// fitting drops the labels of ticks between the regular ones of the x axis where there is no room
// for them.
func (p panel) fitting(ticks []Tick) []Tick {
	kept := slices.Clone(ticks)
	for i, t := range ticks {
		if !t.Between {
			continue
		}
		for j, other := range ticks {
			room := (p.labelWidth(t) + p.labelWidth(other)) / 2
			if apart := p.X(p.figure.X.place(t.At)) - p.X(p.figure.X.place(other.At)); j != i && other.Label != "" && max(apart, -apart) < room {
				kept[i].Label = ""
			}
		}
	}
	return kept
}

// labels writes every n-th label, counted from the last.
func (p panel) labels(ticks []Tick, every int, write func(Tick)) {
	count := 0
	for i := len(ticks) - 1; i >= 0; i-- {
		if ticks[i].Label == "" {
			continue
		}
		if count%every == 0 {
			write(ticks[i])
		}
		count++
	}
}

// everySo is the smallest step at which labels of these widths do not touch.
func everySo(at, widths []float64) int {
	for every := 1; every < len(at); every++ {
		touch := false
		for i := len(at) - 1; i-every >= 0; i -= every {
			touch = touch || math.Abs(at[i]-at[i-every]) < (widths[i]+widths[i-every])/2
		}
		if !touch {
			return every
		}
	}
	return max(len(at), 1)
}

func (p panel) titles(whole draw.Canvas, bottom vg.Length) {
	if p.figure.X.Title != "" {
		p.FillText(textStyle(titleSize, draw.XCenter, draw.YBottom), vg.Point{X: (p.Min.X + p.Max.X) / 2, Y: whole.Min.Y + bottom + 1}, p.figure.X.Title)
	}
	if p.figure.Y.Title != "" {
		style := textStyle(titleSize, draw.XCenter, draw.YTop)
		style.Rotation = math.Pi / 2
		p.FillText(style, vg.Point{X: whole.Min.X, Y: (p.Min.Y + p.Max.Y) / 2}, p.figure.Y.Title)
	}
}
