package spec

import (
	"fmt"
	"math"
	"strconv"
)

// figureRange is the range of a figure's axes.
type figureRange struct {
	x, y         [2]float64
	xForm, yForm string
}

// figureRanges are the ranges of the axes in the report's figures. No measurement comes near the
// limits: 10^12 packets a second, and 10^12 ns, a quarter of an hour.
var figureRanges = map[Figure]figureRange{
	FigureRate:    {[2]float64{0, 1e12}, [2]float64{0, 1e12}, "sent packets a second, from 0", "received packets a second, from 0"},
	FigureSize:    {[2]float64{64, 65535}, [2]float64{0, 1e12}, "bytes of the frame with its FCS, 64 to 65535", "packets a second, from 0"},
	FigureLatency: {[2]float64{1, 1e12}, [2]float64{0, 1e12}, "1/(1 - p) of the percentile p, from 1", "nanoseconds, from 0"},
	FigureLoad:    {[2]float64{0, 1e12}, [2]float64{0, 1e12}, "offered packets a second, from 0", "nanoseconds, from 0"},
	FigureMaximum: {[2]float64{0, 0}, [2]float64{0, 1e12}, "0", "packets a second, from 0"},
}

// published checks that points can be drawn.
func (c *checker) published() {
	for i, p := range c.e.Published {
		at := []string{"published", strconv.Itoa(i), "points"}
		if len(p.Points) == 0 {
			c.fail("has no points", "", "give at least one, such as [[1000, 950]]", at...)
		}
		if p.Figure == FigureMaximum && len(p.Points) > 1 {
			c.fail(fmt.Sprintf("the figure maximum has one value for each series, and this has %d", len(p.Points)), "", "give each its own series", at...)
		}
		axes := figureRanges[p.Figure]
		for j, point := range p.Points {
			here := under(at, strconv.Itoa(j))
			if len(point) != 2 {
				c.fail(fmt.Sprintf("a point has two numbers, and this has %d", len(point)), "[x, y]", "", here...)
				continue
			}
			for k, one := range []struct {
				name, form string
				ends       [2]float64
			}{{"x", axes.xForm, axes.x}, {"y", axes.yForm, axes.y}} {
				if v := point[k]; math.IsNaN(v) || v < one.ends[0] || v > one.ends[1] {
					c.fail(fmt.Sprintf("%g is no %s of the figure %s", v, one.name, p.Figure), one.form, "", under(here, strconv.Itoa(k))...)
				}
			}
		}
	}
}
