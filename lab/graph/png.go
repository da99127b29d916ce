package graph

import (
	"fmt"
	"image"
	"image/color"
	imagedraw "image/draw"
	"image/png"
	"io"
	"math"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationmonoregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"

	"nines.dev/nines/plan"
)

// scale is how many pixels of a PNG are one of the layout, so that it can be read on dense screens.
const scale = 2

// mostPixels bounds each side of a PNG, which takes four bytes of memory a pixel.
const mostPixels = 8192

// PNG draws the network as SVG does, in its light colours.
func PNG(w io.Writer, p *plan.Plan) error {
	vertices, width, height := lay(p)
	if scale*max(width, height) > mostPixels {
		return fmt.Errorf("the network is too large for a PNG of %d pixels a side; draw an SVG", mostPixels)
	}
	b := &bitmap{RGBA: image.NewRGBA(image.Rect(0, 0, int(scale*width), int(scale*height)))}
	imagedraw.Draw(b, b.Bounds(), image.White, image.Point{}, imagedraw.Src)
	draw(b, p, vertices)
	return png.Encode(w, b)
}

// bitmap is a canvas of pixels.
type bitmap struct{ *image.RGBA }

// ink is how a class is drawn: as in the style of the SVG.
type ink struct {
	fill, stroke string
	width        float64 // of the stroke
	size         float64 // of text
}

var inks = map[string]ink{
	"node":         {fill: "#f6f8fa", stroke: "#57606a", width: 1},
	"title":        {fill: "#1f2328", size: 13},
	"detail":       {fill: "#656d76", size: 11},
	"port":         {fill: "#1f2328", size: 12},
	"rule":         {stroke: "#d0d7de", width: 1},
	"name":         {fill: "#ffffff", size: 12},
	"kind":         {fill: "#ffffff", size: 10},
	"edge":         {stroke: "#8c959f", width: 1.6},
	"edge traffic": {stroke: "#d55e00", width: 2.6},
}

func (b *bitmap) box(class, colour string, x, y, width, height, radius float64) {
	i := inks[class]
	if i.stroke != "" {
		half := i.width / 2
		b.fill(i.stroke, roundedBox(x-half, y-half, width+i.width, height+i.width, radius+half))
		x, y, width, height, radius = x+half, y+half, width-i.width, height-i.width, radius-half
	}
	if colour == "" {
		colour = i.fill
	}
	b.fill(colour, roundedBox(x, y, width, height, radius))
}

// roundedBox is the outline of a rectangle whose corners are arcs.
func roundedBox(x, y, width, height, radius float64) []point {
	const steps = 12 // of a corner
	var outline []point
	for corner, centre := range []point{
		{x + width - radius, y + height - radius}, {x + radius, y + height - radius},
		{x + radius, y + radius}, {x + width - radius, y + radius},
	} {
		for i := range steps + 1 {
			angle := math.Pi / 2 * (float64(corner) + float64(i)/steps)
			outline = append(outline, point{centre.x + radius*math.Cos(angle), centre.y + radius*math.Sin(angle)})
		}
	}
	return outline
}

func (b *bitmap) line(class string, x1, y1, x2, y2 float64) {
	b.stroke(class, []point{{x1, y1}, {x2, y2}})
}

func (b *bitmap) curve(class string, x1, y1, x2, y2 float64) {
	const steps = 48
	middle := (x1 + x2) / 2
	var points []point
	for i := range steps + 1 {
		t := float64(i) / steps
		u := 1 - t
		points = append(points, point{
			u*u*u*x1 + 3*u*u*t*middle + 3*u*t*t*middle + t*t*t*x2,
			(u*u*u+3*u*u*t)*y1 + (3*u*t*t+t*t*t)*y2,
		})
	}
	b.stroke(class, points)
}

func (b *bitmap) text(class string, x, y float64, centred bool, text string) {
	i := inks[class]
	d := font.Drawer{Dst: b, Src: image.NewUniform(parseColour(i.fill)), Face: faceOf(i.size)}
	if centred {
		x -= float64(d.MeasureString(text)) / 64 / scale / 2
	}
	d.Dot = fixed.Point26_6{X: fixed.Int26_6(x * scale * 64), Y: fixed.Int26_6(y * scale * 64)}
	d.DrawString(text)
}

type point struct{ x, y float64 }

// stroke draws a line of a class through points.
func (b *bitmap) stroke(class string, points []point) {
	i := inks[class]
	there, back := make([]point, 0, 2*len(points)), make([]point, 0, len(points))
	for at, p := range points {
		before, behind := points[max(at-1, 0)], points[min(at+1, len(points)-1)]
		length := math.Hypot(behind.x-before.x, behind.y-before.y)
		across := point{-(behind.y - before.y) / length * i.width / 2, (behind.x - before.x) / length * i.width / 2}
		there, back = append(there, point{p.x + across.x, p.y + across.y}), append(back, point{p.x - across.x, p.y - across.y})
	}
	for at := len(back) - 1; at >= 0; at-- {
		there = append(there, back[at])
	}
	b.fill(i.stroke, there)
}

// fill fills what an outline encloses.
func (b *bitmap) fill(colour string, outline []point) {
	r := vector.NewRasterizer(b.Bounds().Dx(), b.Bounds().Dy())
	for i, p := range outline {
		if x, y := float32(scale*p.x), float32(scale*p.y); i == 0 {
			r.MoveTo(x, y)
		} else {
			r.LineTo(x, y)
		}
	}
	r.ClosePath()
	r.Draw(b, b.Bounds(), image.NewUniform(parseColour(colour)), image.Point{})
}

// parseColour reads #rrggbb.
func parseColour(text string) color.Color {
	c := color.RGBA{A: 255}
	_, _ = fmt.Sscanf(text, "#%02x%02x%02x", &c.R, &c.G, &c.B) // each is a constant of the project
	return c
}

// monospace is the font, which is parsed once.
var monospace = sync.OnceValue(func() *opentype.Font {
	f, err := opentype.Parse(liberationmonoregular.TTF)
	if err != nil {
		panic("the font that was compiled in cannot be read: " + err.Error())
	}
	return f
})

func faceOf(size float64) font.Face {
	face, err := opentype.NewFace(monospace(), &opentype.FaceOptions{Size: size * scale, DPI: 72})
	if err != nil {
		panic("the font that was compiled in has no size " + fmt.Sprint(size) + ": " + err.Error())
	}
	return face
}
