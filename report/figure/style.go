package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
)

// mostLooks is the most distinguishable curves. Draw fewer; do not add colours.
const mostLooks = 8

// palette is that of Okabe and Ito (Color Universal Design, 2008), which works for all common kinds
// of colour blindness; yellow is last, as it is faint on paper.
var palette = [mostLooks]color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	{0x00, 0x9e, 0x73, 0xff}, // bluish green
	{0x00, 0x00, 0x00, 0xff}, // black
	{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
	{0xe6, 0x9f, 0x00, 0xff}, // orange
	{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	{0xc8, 0xb8, 0x00, 0xff}, // yellow, darkened from f0e442 for white paper
}

var (
	ink  = color.RGBA{0x22, 0x22, 0x22, 0xff}
	grid = color.RGBA{0xdd, 0xdd, 0xdd, 0xff}
	grey = color.RGBA{0x99, 0x99, 0x99, 0xff}
)

// dashes match the colours, in points, so that lines differ in grey as well.
var dashes = [mostLooks][]vg.Length{
	{}, {5, 1.6}, {1.4, 1.4}, {6, 1.5, 1.2, 1.5}, {3, 1.2}, {8, 2}, {4, 1.2, 1, 1.2, 1, 1.2}, {1, 2.2},
}

// dotted are the dashes of published curves: fine, wide, in pairs, and with short dashes.
var dotted = [][]vg.Length{{0.9, 1.3}, {0.9, 2.6}, {0.9, 1.1, 0.9, 2.8}, {2, 1.3}}

// light is a colour for areas behind lines.
func light(c color.RGBA, alpha float64) color.NRGBA {
	return color.NRGBA{c.R, c.G, c.B, uint8(math.Round(alpha * 255))}
}

// pale is halfway to white.
func pale(c color.RGBA) color.RGBA {
	half := func(v uint8) uint8 { return v/2 + 128 }
	return color.RGBA{half(c.R), half(c.G), half(c.B), c.A}
}

// marker draws a sign of size 2 r around a point.
type marker func(p vg.Point, r vg.Length) vg.Path

var markers = [mostLooks]marker{
	circle, polygon(4, math.Pi/4, 1.2), polygon(3, math.Pi/2, 1.3), polygon(4, 0, 1.3),
	polygon(3, -math.Pi/2, 1.3), polygon(5, math.Pi/2, 1.2), polygon(3, 0, 1.3), polygon(6, 0, 1.15),
}

// circle consists of four cubic curves; 0.5523 is 4/3·(√2 − 1), which deviates from a circle by at
// most 0.03 %.
func circle(p vg.Point, r vg.Length) vg.Path {
	const k = 0.5522847498
	at := func(x, y vg.Length) vg.Point { return vg.Point{X: p.X + x*r, Y: p.Y + y*r} }
	var path vg.Path
	path.Move(at(1, 0))
	path.CubeTo(at(1, k), at(k, 1), at(0, 1))
	path.CubeTo(at(-k, 1), at(-1, k), at(-1, 0))
	path.CubeTo(at(-1, -k), at(-k, -1), at(0, -1))
	path.CubeTo(at(k, -1), at(1, -k), at(1, 0))
	path.Close()
	return path
}

func polygon(corners int, turn, size float64) marker {
	return func(p vg.Point, r vg.Length) vg.Path {
		var path vg.Path
		for i := range corners {
			sin, cos := math.Sincos(turn + 2*math.Pi*float64(i)/float64(corners))
			at := vg.Point{X: p.X + r*vg.Length(cos*size), Y: p.Y + r*vg.Length(sin*size)}
			if i == 0 {
				path.Move(at)
			} else {
				path.Line(at)
			}
		}
		path.Close()
		return path
	}
}
