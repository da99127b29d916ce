package figure

import (
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// TestTextsKeepAMargin draws the figures and looks where each level text ends: none touches the
// figure's edge, with the letters that reach below the line, and however many lines a note has.
func TestTextsKeepAMargin(t *testing.T) {
	all := drawings(t)
	noted := *all["published"]
	noted.Sources = []string{"Grey, Young and Pygmy, a study of queueing by going slowly through every page, proceedings of the greatest gathering, 2023, figures 7 to 9"}
	all["a note of several lines"] = &noted
	for name, f := range all {
		size := f.sizeFor(Size{})
		var seen recorder.Canvas
		if err := f.paint(draw.NewCanvas(&seen, size.Width, size.Height)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		texts := 0
		for _, action := range seen.Actions {
			text, ok := action.(*recorder.FillString)
			if !ok || text.String == f.Y.Title { // that stands upright
				continue
			}
			texts++
			face := handler().Cache().Lookup(text.Font, text.Size)
			below, above := text.Point.Y-face.Extents().Descent, text.Point.Y+face.Extents().Ascent
			left, right := text.Point.X, text.Point.X+face.Width(text.String)
			if below < edge/2 || above > size.Height-edge/2 || left < edge/2 || right > size.Width-edge/2 {
				t.Errorf("%s: %q is at %.1f to %.1f across and %.1f to %.1f up, in a figure of %.1f × %.1f points", name, text.String,
					left.Points(), right.Points(), below.Points(), above.Points(), size.Width.Points(), size.Height.Points())
			}
		}
		if texts == 0 {
			t.Errorf("%s has no text", name)
		}
	}
	if lines := noted.sourceLines(ColumnWidth - 2*edge); len(lines) < 2 {
		t.Errorf("the note has %d lines", len(lines))
	}
}

// TestTheMedianIsMarkedWhereThereIsRoom: 0 and 90 come first.
func TestTheMedianIsMarkedWhereThereIsRoom(t *testing.T) {
	for width, want := range map[vg.Length]bool{PageWidth: true, 30 * vg.Millimeter: false} {
		f := &Figure{X: percentileAxis(1e6)}
		p := panel{Canvas: draw.NewCanvas(new(recorder.Canvas), width, width), figure: f}
		got := false
		for _, tick := range p.fitting(f.X.Ticks) {
			got = got || tick.Label == "50"
		}
		if got != want {
			t.Errorf("at %.0f mm: the median is marked: %v", float64(width/vg.Millimeter), got)
		}
	}
}
