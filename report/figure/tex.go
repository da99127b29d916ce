package figure

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"io"
	"strings"
	"unicode"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// tex writes PGF, which LaTeX sets in the document's own font. It does not use the canvas of
// gonum/plot, which writes numbers as 1e-05pt, which TeX cannot read, and does not escape %, _ and
// & in names.
//
// Text is placed as in Liberation Sans and centred on its width there, so that another font's
// widths differ equally on both sides.
type tex struct {
	out           bytes.Buffer
	width, height vg.Length
	stack         []texState
	title, about  string
}

type texState struct {
	color color.Color
	width vg.Length
	dash  string
	// paint and pen are the commands in effect, to avoid repeating them for thousands of dots.
	paint, pen string
}

// texCommands shorten the file. They are local to the picture.
const texCommands = `\def\nM#1#2{\pgfpathmoveto{\pgfqpoint{#1bp}{#2bp}}}
\def\nL#1#2{\pgfpathlineto{\pgfqpoint{#1bp}{#2bp}}}
\def\nC#1#2#3#4#5#6{\pgfpathcurveto{\pgfqpoint{#1bp}{#2bp}}{\pgfqpoint{#3bp}{#4bp}}{\pgfqpoint{#5bp}{#6bp}}}
\def\nZ{\pgfpathclose}
\def\nS{\pgfusepath{stroke}}
\def\nF{\pgfusepath{fill}}
`

func newTeX(width, height vg.Length, title, description string) *tex {
	c := &tex{width: width, height: height, stack: []texState{{color: color.Black}}, title: title, about: description}
	vg.Initialize(c)
	return c
}

func (c *tex) state() *texState { return &c.stack[len(c.stack)-1] }

func (c *tex) Size() (vg.Length, vg.Length) { return c.width, c.height }

func (c *tex) SetLineWidth(w vg.Length) { c.state().width = w }

func (c *tex) SetColor(to color.Color) { c.state().color = to }

func (c *tex) SetLineDash(pattern []vg.Length, offset vg.Length) {
	var out strings.Builder
	for _, p := range pattern {
		fmt.Fprintf(&out, "{%s}", bp(p))
	}
	if len(pattern)%2 == 1 {
		panic("a dash pattern has pairs of lengths")
	}
	c.state().dash = fmt.Sprintf(`\pgfsetdash{%s}{%s}`, out.String(), bp(offset))
}

func (c *tex) Rotate(rad float64) { c.writef(`\pgftransformrotate{%.4f}`, rad*180/3.141592653589793) }

func (c *tex) Translate(to vg.Point) { c.writef(`\pgftransformshift{%s}`, texPoint(to)) }

func (c *tex) Scale(x, y float64) {
	c.writef(`\pgftransformxscale{%.4f}\pgftransformyscale{%.4f}`, x, y)
}

func (c *tex) Push() {
	c.stack = append(c.stack, *c.state())
	c.writef(`\begin{pgfscope}`)
}

func (c *tex) Pop() {
	c.stack = c.stack[:len(c.stack)-1]
	c.writef(`\end{pgfscope}`)
}

func (c *tex) Stroke(p vg.Path) {
	pen := fmt.Sprintf(`\pgfsetlinewidth{%s}%s`, bp(c.state().width), c.state().dash)
	if pen != c.state().pen {
		c.writef("%s", pen)
		c.state().pen = pen
	}
	c.path(p, `\nS`)
}

func (c *tex) Fill(p vg.Path) { c.path(p, `\nF`) }

func (c *tex) path(p vg.Path, use string) {
	c.color()
	var out strings.Builder
	for _, part := range p {
		switch part.Type {
		case vg.MoveComp:
			out.WriteString(`\nM` + texPair(part.Pos))
		case vg.LineComp:
			out.WriteString(`\nL` + texPair(part.Pos))
		case vg.CurveComp:
			a, b := cubic(part)
			out.WriteString(`\nC` + texPair(a) + texPair(b) + texPair(part.Pos))
		case vg.CloseComp:
			out.WriteString(`\nZ`)
		}
		if part.Type != vg.CloseComp && out.Len() > texLine {
			c.writef("%s%%", out.String())
			out.Reset()
		}
	}
	c.writef("%s%s", out.String(), use)
}

// texLine is the longest line of the file, well within TeX's buffer.
const texLine = 1000

func texPair(p vg.Point) string { return fmt.Sprintf("{%.2f}{%.2f}", p.X.Points(), p.Y.Points()) }

func (c *tex) color() {
	to := c.state().color
	if to == nil {
		to = color.Black
	}
	n := color.NRGBAModel.Convert(to).(color.NRGBA)
	paint := fmt.Sprintf(`\definecolor{nines}{RGB}{%d,%d,%d}\pgfsetcolor{nines}\pgfsetstrokeopacity{%.3f}\pgfsetfillopacity{%.3f}`,
		n.R, n.G, n.B, float64(n.A)/255, float64(n.A)/255)
	if paint != c.state().paint {
		c.writef("%s", paint)
		c.state().paint = paint
	}
}

// FillString leaves the font to the document and sets only its size.
func (c *tex) FillString(face font.Face, at vg.Point, text string) {
	c.color()
	at.X += face.Width(text) / 2
	size := face.Font.Size.Points() * 72.27 / 72 // TeX's point is smaller
	c.writef(`\pgftext[base,at={%s}]{\fontsize{%.2fpt}{%.2fpt}\selectfont %s}`, texPoint(at), size, size*1.2, texText(text))
}

// DrawImage only satisfies the interface: no figure holds an image.
func (c *tex) DrawImage(vg.Rectangle, image.Image) {}

func (c *tex) writef(format string, args ...any) {
	c.out.WriteString(strings.Repeat(" ", len(c.stack)-1))
	fmt.Fprintf(&c.out, format+"\n", args...)
}

// WriteTo writes a file that compiles by itself, and also works with \input in a document that uses
// pgf: LaTeX makes \@nodocument \relax inside a document.
func (c *tex) WriteTo(w io.Writer) (int64, error) {
	n, err := fmt.Fprintf(w, `%% %s
%% %s
%% Made by nines. Compile it as it is, or say \usepackage{pgf} and \input it.
\makeatletter
\ifx\@nodocument\relax\let\ninesend\relax\else
\documentclass{article}
\usepackage[paperwidth=%s,paperheight=%s,margin=0bp]{geometry}
\usepackage{pgf}
\pagestyle{empty}\setlength{\parindent}{0pt}\setlength{\topskip}{0pt}
\renewcommand{\familydefault}{\sfdefault}
\begin{document}
\def\ninesend{\end{document}}
\fi
\makeatother
\begin{pgfpicture}
\pgfpathrectangle{\pgfpointorigin}{%s}\pgfusepath{use as bounding box}
%s%s\end{pgfpicture}
\ninesend
`, oneLine(c.title), oneLine(c.about), bp(c.width), bp(c.height), texPoint(vg.Point{X: c.width, Y: c.height}), texCommands, c.out.Bytes())
	return int64(n), err
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// bp is a length in PostScript and PDF points, 72 to the inch.
func bp(l vg.Length) string { return fmt.Sprintf("%.3fbp", l.Points()) }

func texPoint(p vg.Point) string { return fmt.Sprintf(`\pgfpoint{%s}{%s}`, bp(p.X), bp(p.Y)) }

// texText escapes TeX's special characters, and writes signs as commands that need no package.
// TeX's usual fonts lack letters beyond Latin Extended-A.
func texText(text string) string {
	return texEscapes.Replace(strings.Map(func(r rune) rune {
		switch {
		case !unicode.IsPrint(r):
			return ' '
		case r > 0x17f && !strings.ContainsRune("μ−–—…†‡≥≤→", r):
			return '?'
		}
		return r
	}, text))
}

var texEscapes = strings.NewReplacer(
	`\`, `$\backslash$`, `{`, `\{`, `}`, `\}`, `$`, `\$`, `&`, `\&`, `#`, `\#`, `%`, `\%`, `_`, `\_`,
	`^`, `\^{}`, `~`, `\~{}`, `<`, `$<$`, `>`, `$>$`, `|`, `$|$`, `"`, `''`,
	"µ", `$\mu$`, "μ", `$\mu$`, "×", `$\times$`, "−", `$-$`, "–", `--`, "—", `---`, "…", `\ldots{}`,
	"†", `\dag{}`, "‡", `\ddag{}`, "§", `\S{}`, "¶", `\P{}`, "±", `$\pm$`,
	"≥", `$\geq$`, "≤", `$\leq$`, "→", `$\rightarrow$`, "°", `$^\circ$`,
)
