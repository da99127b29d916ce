package figure

import (
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	swatch    = vg.Length(20)
	legendRow = legendSize * vg.Length(1.35)
	sourceRow = sourceSize * vg.Length(1.3)
	// descent is the room below the last line for letters such as g.
	descent = sourceSize * vg.Length(0.25)
)

// legend is a table above the data with as many columns as fit.
type legend struct {
	entries       []Series
	labels        []string
	columns, rows int
	width         vg.Length // of a column
}

// entry is what tells a line of the legend from another.
type entry struct {
	label              string
	look, tone, source int
	shape              Shape
}

// sourceSigns link a published series to its source.
var sourceSigns = []string{"*", "†", "‡", "§", "¶", "**", "††", "‡‡"}

func sign(source int) string {
	if source <= 0 {
		return ""
	}
	return sourceSigns[(source-1)%len(sourceSigns)]
}

func (f *Figure) legend(width vg.Length) legend {
	l := legend{}
	seen := map[entry]bool{}
	for _, s := range f.Series {
		one := entry{s.Label, s.Look, s.Tone, s.Source, s.Shape}
		if s.Label == "" || seen[one] { // panels have the same curves
			continue
		}
		seen[one] = true
		label := shorten(s.Label, width-swatch-gap-textWidth(sign(s.Source), legendSize))
		l.entries, l.labels = append(l.entries, s), append(l.labels, label+sign(s.Source))
		l.width = max(l.width, swatch+gap+textWidth(label+sign(s.Source), legendSize)+3*gap)
	}
	if len(l.entries) == 1 && l.entries[0].Source == 0 {
		return legend{} // a single curve needs no name
	}
	if len(l.entries) > 0 {
		l.columns = max(1, min(len(l.entries), int((width+3*gap)/l.width)))
		l.rows = (len(l.entries) + l.columns - 1) / l.columns
	}
	return l
}

// shorten truncates a text that is too wide.
func shorten(text string, width vg.Length) string {
	if textWidth(text, legendSize) <= width {
		return text
	}
	runes := []rune(text)
	for len(runes) > 1 && textWidth(string(runes)+"…", legendSize) > width {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimSpace(string(runes)) + "…"
}

func (l legend) height() vg.Length {
	if l.rows == 0 {
		return 0
	}
	return vg.Length(l.rows)*legendRow + gap
}

func (l legend) draw(c draw.Canvas) {
	p := panel{Canvas: c, figure: &Figure{}}
	for i, s := range l.entries {
		// Column by column, to keep related entries together.
		column, row := i/l.rows, i%l.rows
		x := c.Min.X + vg.Length(column)*l.width
		y := c.Max.Y - (vg.Length(row)+0.5)*legendRow
		switch s.Shape {
		case Bars:
			box := []vg.Point{{X: x + 5, Y: y - 2.5}, {X: x + swatch - 3, Y: y - 2.5}, {X: x + swatch - 3, Y: y + 2.5}, {X: x + 5, Y: y + 2.5}}
			if s.Source > 0 {
				c.StrokeLines(draw.LineStyle{Color: s.color(), Width: thin * 1.6, Dashes: s.dash()}, append(box, box[0]))
			} else {
				c.FillPolygon(s.color(), box)
			}
		case Dots:
			p.mark(s, vg.Point{X: x + swatch/2, Y: y})
		default:
			c.StrokeLine2(s.line(), x, y, x+swatch, y)
			if s.marked() {
				p.mark(s, vg.Point{X: x + swatch/2, Y: y})
			}
		}
		c.FillText(textStyle(legendSize, draw.XLeft, draw.YCenter), vg.Point{X: x + swatch + gap, Y: y + middle}, l.labels[i])
	}
}

// sourceLines below the figure name the origins of the published points.
type sourceLines []string

func (f *Figure) sourceLines(width vg.Length) sourceLines {
	var lines sourceLines
	for i, source := range f.Sources {
		line := ""
		for _, word := range strings.Fields(sign(i+1) + " published, not measured here: " + source) {
			if longer := strings.TrimSpace(line + " " + word); textWidth(longer, sourceSize) <= width {
				line = longer
				continue
			}
			lines, line = append(lines, line), word
		}
		lines = append(lines, line)
	}
	return lines
}

func (l sourceLines) height() vg.Length {
	if len(l) == 0 {
		return 0
	}
	return vg.Length(len(l))*sourceRow + descent + gap
}

func (l sourceLines) draw(c draw.Canvas) {
	for i, line := range l {
		y := c.Min.Y + descent + vg.Length(len(l)-1-i)*sourceRow
		c.FillText(textStyle(sourceSize, draw.XLeft, draw.YBottom), vg.Point{X: c.Min.X, Y: y}, line)
	}
}
