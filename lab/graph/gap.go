package graph

import (
	"slices"

	"nines.dev/nines/plan"
)

// gap is the space between two columns, in which each link's line to one side has a channel of its own: the place at
// which it turns.
type gap struct{ channels []*channel }

// channel has the lines of one link in a gap: the rows where they meet the column on each side.
type channel struct {
	lines []gapLine
	x     int
}

type gapLine struct {
	leftRow, rightRow int
	weight            weight
}

// gapBetween finds the lines between two columns.
func gapBetween(p *plan.Plan, before, behind *column) *gap {
	g := &gap{}
	for _, side := range []struct{ links, nodes *column }{{before, behind}, {behind, before}} {
		for _, v := range side.links.vertices {
			if v.link == nil {
				continue
			}
			c := &channel{}
			for i, n := range v.neighbours {
				top, there := side.nodes.tops[n]
				e := endpointOf(v, n, i)
				if !there || e == nil {
					continue
				}
				line := gapLine{side.links.tops[v], top + portRow(n, v.link, e.Interface), light}
				if side.links == behind {
					line.leftRow, line.rightRow = line.rightRow, line.leftRow
				}
				if onPath(p, *e) {
					line.weight = heavy
				}
				c.lines = append(c.lines, line)
			}
			if len(c.lines) > 0 {
				g.channels = append(g.channels, c)
			}
		}
	}
	return g
}

// order sorts the channels so that no two lines lie on each other: one that meets the left column in the row in which
// another meets the right one is left of it. It is false if that cannot be.
func (g *gap) order() bool {
	var sorted []*channel
	for left := slices.Clone(g.channels); len(left) > 0; {
		i := slices.IndexFunc(left, func(c *channel) bool {
			return !slices.ContainsFunc(left, func(other *channel) bool { return other != c && other.isBefore(c) })
		})
		if i < 0 {
			return false
		}
		sorted, left = append(sorted, left[i]), slices.Delete(left, i, i+1)
	}
	g.channels = sorted
	return true
}

// isBefore is true if this channel has to be left of another.
func (c *channel) isBefore(other *channel) bool {
	for _, mine := range c.lines {
		for _, theirs := range other.lines {
			if mine.leftRow == theirs.rightRow {
				return true
			}
		}
	}
	return false
}

// isStraight is true for a single line that does not turn.
func (c *channel) isStraight() bool {
	return len(c.lines) == 1 && c.lines[0].leftRow == c.lines[0].rightRow
}

// place gives each channel its place from x on, and returns how many columns of cells the gap has.
func (g *gap) place(x int) (width int) {
	width = 2
	for _, c := range g.channels {
		c.x = x
		if !c.isStraight() {
			c.x, width = x+width-1, width+2
		}
	}
	return width
}

// draw draws a link's lines in a gap, which begins at x.
func (c *channel) draw(s *sheet, x, width int) {
	for _, l := range c.lines {
		s.across(x-1, c.x, l.leftRow, l.weight)
		s.along(c.x, l.leftRow, l.rightRow, l.weight)
		s.across(c.x, x+width, l.rightRow, l.weight)
	}
}
