package figure

import (
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Liberation Sans has the widths of Arial and Helvetica, which publishers ask for, and a licence
// (SIL OFL 1.1) that allows embedding.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

var fontFile = liberationsansregular.TTF

// handler holds the font; it is parsed once and then only read.
var handler = sync.OnceValue(func() text.Handler {
	parsed, err := opentype.Parse(fontFile)
	if err != nil {
		panic("the font that was compiled in cannot be read: " + err.Error())
	}
	return text.Plain{Fonts: font.NewCache(font.Collection{{Font: sans, Face: parsed}})}
})

// Text sizes in points, as journals ask for in print.
const (
	titleSize  = 8
	tickSize   = 7
	legendSize = 7
	sourceSize = 6
)

func textStyle(size vg.Length, x draw.XAlignment, y draw.YAlignment) draw.TextStyle {
	return draw.TextStyle{Color: ink, Font: font.From(sans, size), XAlign: x, YAlign: y, Handler: handler()}
}

// textWidth is the width of a text at a size.
func textWidth(t string, size vg.Length) vg.Length {
	return textStyle(size, 0, 0).Width(t)
}
