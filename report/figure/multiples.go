package figure

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	// panelWidth is the least width of a panel that a figure of several has, if it is wide enough for one of them;
	// narrowWidth that of many.
	panelWidth  = 38 * vg.Millimeter
	narrowWidth = 27 * vg.Millimeter
	manyPanels  = 9
	// panelData is the height of a panel's data.
	panelData = 30 * vg.Millimeter
	// panelName is the height of a panel's name above its data.
	panelName = legendSize * vg.Length(1.5)
)

// grid is how many panels a figure of this width has beside and below one another.
func (f *Figure) grid(width vg.Length) (columns, rows int) {
	n := len(f.Panels)
	least := panelWidth
	if n >= manyPanels {
		least = narrowWidth
	}
	columns = max(1, min(n, int(width/least)))
	rows = (n + columns - 1) / columns
	return (n + rows - 1) / rows, rows // as even as it goes
}

// panelsHeight is the height of all panels.
func (f *Figure) panelsHeight(width vg.Length) vg.Length {
	_, rows := f.grid(width)
	return vg.Length(rows)*(panelData+panelName) + vg.Length(rows-1)*gap
}

// areas are the panels' data areas: the whole area without panels. Those at the left and at the bottom have the numbers
// of the axes.
func (f *Figure) areas(whole draw.Canvas) []panel {
	if f.Panels == nil {
		return []panel{{Canvas: whole, figure: f}}
	}
	columns, rows := f.grid(whole.Size().X + f.left() + f.right())
	beside := max(f.right(), gap) + gap // the last number of a panel reaches beyond it
	width := (whole.Size().X - vg.Length(columns-1)*beside) / vg.Length(columns)
	height := (whole.Size().Y - vg.Length(rows-1)*gap) / vg.Length(rows)
	var list []panel
	for i, one := range f.Panels {
		column, row := i%columns, i/columns
		left, top := vg.Length(column)*(width+beside), vg.Length(row)*(height+gap)
		area := draw.Crop(whole, left, left+width-whole.Size().X, whole.Size().Y-top-height, -top-panelName)
		part := *f
		part.Series, part.Panels = one.Series, nil
		list = append(list, panel{Canvas: area, figure: &part, noX: i+columns < len(f.Panels), noY: column > 0})
	}
	return list
}

// name writes what a panel is of above its data.
func (p panel) name(title string) {
	p.FillText(textStyle(legendSize, draw.XCenter, draw.YBottom), vg.Point{X: (p.Min.X + p.Max.X) / 2, Y: p.Max.Y + 1.5}, shorten(title, p.Size().X))
}
