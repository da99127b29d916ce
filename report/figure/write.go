package figure

import (
	"fmt"
	"image/color"
	"io"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"nines.dev/nines/terminal"
)

// The widths of one and two columns in common templates (IEEE, ACM, Elsevier), and suitable heights
// of the data.
const (
	ColumnWidth = 85 * vg.Millimeter
	PageWidth   = 178 * vg.Millimeter

	columnData = 48 * vg.Millimeter
	pageData   = 62 * vg.Millimeter
)

// pngDPI is what publishers ask for.
const pngDPI = 300

// Formats returns the file formats, which are also the file extensions.
func Formats() []string { return []string{"svg", "pdf", "png", "tex"} }

// Size is that of the whole figure. A height of 0 follows from the width and the legend.
type Size struct{ Width, Height vg.Length }

// Write renders the figure. It writes nothing if it returns an error of exit code 2: the size is
// too small for the content, or the format is unknown.
func (f *Figure) Write(w io.Writer, format string, size Size) error {
	size = f.sizeFor(size)
	// Names may be someone else's: control characters are no XML, and act on a terminal.
	title, about := terminal.Plain(f.Title), terminal.Plain(f.describe())
	var c vg.CanvasWriterTo
	switch format {
	case "svg":
		c = newOutlined(size.Width, size.Height, title, about)
	case "pdf":
		c = newPDF(size.Width, size.Height, title, about)
	case "png":
		c = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(size.Width, size.Height), vgimg.UseDPI(pngDPI), vgimg.UseBackgroundColor(color.White))}
	case "tex":
		c = newTeX(size.Width, size.Height, title, about)
	default:
		return fmt.Errorf("unknown figure format %q; allowed: %s", format, strings.Join(Formats(), ", "))
	}
	if err := f.paint(draw.New(c)); err != nil {
		return err
	}
	_, err := c.WriteTo(w)
	return err
}

func (f *Figure) sizeFor(size Size) Size {
	if size.Width == 0 {
		size.Width = ColumnWidth
	}
	if size.Height == 0 {
		data := columnData
		if size.Width > (ColumnWidth+PageWidth)/2 {
			data = pageData
		}
		if rows := len(f.Categories); rows > 0 {
			data = vg.Length(max(rows, 4)) * 5 * vg.Millimeter * vg.Length(1+0.5*float64(len(f.Series)-1))
		}
		if f.Panels != nil {
			data = f.panelsHeight(size.Width)
		}
		size.Height = data + f.legend(size.Width-2*edge).height() + f.sourceLines(size.Width-2*edge).height() + f.above() + f.below() + 2*edge
	}
	return size
}

// describe is the text for a reader without the picture: axes, curves, notes.
func (f *Figure) describe() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s over %s.", f.Y.Title, f.X.Title)
	told := map[string]bool{}
	for _, s := range f.Series {
		if text := s.Label + sign(s.Source); s.Label != "" && !told[text] {
			told[text] = true
			out.WriteString(" " + text + ".")
		}
	}
	for i, p := range f.Panels {
		fmt.Fprintf(&out, " Panel %d: %s.", i+1, p.Title)
	}
	for i, source := range f.Sources {
		out.WriteString(" " + sign(i+1) + " published: " + source + ".")
	}
	for _, note := range f.Notes {
		out.WriteString(" " + note + ".")
	}
	return out.String()
}
