package figure

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// pdf draws on a PDF page. It does not use the canvas of gonum/plot, which writes the time of day,
// and text in code page 1252. This one embeds the used glyphs as a subset of the font, with their
// Unicode values, so that text can be searched and copied.
type pdf struct {
	doc           *fpdf.Fpdf
	width, height vg.Length
	stack         []color.Color
}

// noDay replaces the time that the library always writes; see WriteTo.
var noDay = time.Unix(0, 0).UTC()

const pdfFont = "LiberationSans"

func newPDF(width, height vg.Length, title, description string) *pdf {
	doc := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: width.Points(), Ht: height.Points()}})
	doc.SetCreationDate(noDay)
	doc.SetModificationDate(noDay)
	doc.SetCatalogSort(true)
	doc.SetProducer("nines", true)
	doc.SetTitle(title, true)
	doc.SetSubject(description, true)
	doc.AddUTF8FontFromBytes(pdfFont, "", fontFile)
	doc.SetMargins(0, 0, 0)
	doc.SetAutoPageBreak(false, 0)
	doc.AddPage()
	c := &pdf{doc: doc, width: width, height: height, stack: []color.Color{color.Black}}
	doc.RawWriteStr("1 j") // round joins: percentile curves have sharp corners
	vg.Initialize(c)
	return c
}

func (c *pdf) Size() (vg.Length, vg.Length) { return c.width, c.height }

func (c *pdf) SetLineWidth(w vg.Length) { c.writef("%.3f w", w.Points()) }

func (c *pdf) SetLineDash(pattern []vg.Length, offset vg.Length) {
	parts := make([]string, len(pattern))
	for i, p := range pattern {
		parts[i] = fmt.Sprintf("%.3f", p.Points())
	}
	c.writef("[%s] %.3f d", strings.Join(parts, " "), offset.Points())
}

func (c *pdf) SetColor(to color.Color) {
	if to == nil {
		to = color.Black
	}
	c.stack[len(c.stack)-1] = to
	n := color.NRGBAModel.Convert(to).(color.NRGBA)
	r, g, b := float64(n.R)/255, float64(n.G)/255, float64(n.B)/255
	c.writef("%.3f %.3f %.3f rg %.3f %.3f %.3f RG", r, g, b, r, g, b)
	c.doc.SetAlpha(float64(n.A)/255, "Normal")
}

func (c *pdf) Rotate(rad float64) {
	sin, cos := math.Sincos(rad)
	c.writef("%.5f %.5f %.5f %.5f 0 0 cm", cos, sin, -sin, cos)
}

func (c *pdf) Translate(to vg.Point) { c.writef("1 0 0 1 %.3f %.3f cm", to.X.Points(), to.Y.Points()) }

func (c *pdf) Scale(x, y float64) { c.writef("%.5f 0 0 %.5f 0 0 cm", x, y) }

func (c *pdf) Push() {
	c.stack = append(c.stack, c.stack[len(c.stack)-1])
	c.writef("q")
}

func (c *pdf) Pop() {
	c.stack = c.stack[:len(c.stack)-1]
	c.writef("Q")
}

func (c *pdf) Stroke(p vg.Path) { c.path(p, "S") }

func (c *pdf) Fill(p vg.Path) { c.path(p, "f") }

func (c *pdf) path(p vg.Path, end string) {
	var out strings.Builder
	for _, part := range p {
		switch part.Type {
		case vg.MoveComp:
			fmt.Fprintf(&out, "%.3f %.3f m ", part.Pos.X, part.Pos.Y)
		case vg.LineComp:
			fmt.Fprintf(&out, "%.3f %.3f l ", part.Pos.X, part.Pos.Y)
		case vg.CurveComp:
			a, b := cubic(part)
			fmt.Fprintf(&out, "%.3f %.3f %.3f %.3f %.3f %.3f c ", a.X, a.Y, b.X, b.Y, part.Pos.X, part.Pos.Y)
		case vg.CloseComp:
			out.WriteString("h ")
		}
	}
	c.writef("%s%s", out.String(), end)
}

// cubic returns the control points of a cubic curve; nothing here draws another kind.
func cubic(part vg.PathComp) (a, b vg.Point) { return part.Control[0], part.Control[1] }

// FillString writes searchable text.
func (c *pdf) FillString(face font.Face, at vg.Point, text string) {
	n := color.NRGBAModel.Convert(c.stack[len(c.stack)-1]).(color.NRGBA)
	c.doc.SetFont(pdfFont, "", face.Font.Size.Points())
	c.doc.SetTextColor(int(n.R), int(n.G), int(n.B))
	c.doc.Text(at.X.Points(), (c.height - at.Y).Points(), text) // its y is from the top
}

// DrawImage only satisfies the interface: no figure holds an image.
func (c *pdf) DrawImage(vg.Rectangle, image.Image) {}

func (c *pdf) writef(format string, args ...any) { c.doc.RawWriteStr(fmt.Sprintf(format, args...)) }

// WriteTo blanks the dates, which a PDF need not have, so that a figure is always the same. They
// keep their length, so all offsets in the file remain right.
func (c *pdf) WriteTo(w io.Writer) (int64, error) {
	var drawn bytes.Buffer
	if err := c.doc.Output(&drawn); err != nil {
		return 0, err
	}
	data := drawn.Bytes()
	for _, key := range []string{"/CreationDate", "/ModDate"} {
		entry := []byte(key + " (D:" + noDay.Format("20060102150405") + ")")
		data = bytes.Replace(data, entry, bytes.Repeat([]byte(" "), len(entry)), 1)
	}
	n, err := w.Write(data)
	return int64(n), err
}
