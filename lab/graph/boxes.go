package graph

import (
	"slices"
	"strings"
	"unicode/utf8"

	"nines.dev/nines/plan"
)

// column is a layer of a part of the network as characters: nodes as boxes of one width, or links as words in their
// lines.
type column struct {
	vertices []*vertex
	x, width int
	// tops are the rows at which the vertices begin, heights how many they have.
	tops, heights map[*vertex]int
}

// boxes draws the parts of the network below one another. drawn is false for a network whose lines would lie on each
// other.
func boxes(p *plan.Plan) (s *sheet, drawn bool) {
	s = &sheet{}
	top := 0
	for _, part := range components(p, build(p)) {
		columns := columnsOf(part)
		arrange(columns, top)
		if !drawPart(s, p, columns) {
			return nil, false
		}
		top = len(s.rows) + 1
	}
	return s, true
}

func columnsOf(part []*vertex) []*column {
	var columns []*column
	for _, v := range part {
		for len(columns) <= v.layer {
			columns = append(columns, &column{tops: map[*vertex]int{}, heights: map[*vertex]int{}})
		}
		c := columns[v.layer]
		c.vertices = append(c.vertices, v)
		c.heights[v] = rowsOf(v)
		for _, line := range linesOf(v) {
			c.width = max(c.width, utf8.RuneCountInString(line)+4)
		}
	}
	return columns
}

// nodeHead is how many rows of a node's box are above its interfaces: the frame, its name, what it is, and a rule.
const nodeHead = 4

func rowsOf(v *vertex) int {
	if v.link != nil {
		return 1
	}
	if len(v.node.Interfaces) == 0 {
		return nodeHead
	}
	return nodeHead + len(v.node.Interfaces) + 1
}

// linesOf is the text of a vertex.
func linesOf(v *vertex) []string {
	if v.link != nil {
		return []string{v.link.Name + " (" + describeLink(*v.link) + ")"}
	}
	lines := describeNode(*v.node)
	return append([]string{lines[0], strings.Join(lines[1:], ", ")}, portLines(*v.node)...)
}

// arrange gives each vertex its rows: level with what it is joined to in the column before, in that order.
func arrange(columns []*column, top int) {
	for i, c := range columns {
		wanted := map[*vertex]int{}
		for _, v := range c.vertices {
			wanted[v] = top
			if i > 0 {
				wanted[v] = level(columns[i-1], v)
			}
		}
		slices.SortStableFunc(c.vertices, func(a, b *vertex) int { return wanted[a] - wanted[b] })
		next := top
		for _, v := range c.vertices {
			c.tops[v] = max(next, wanted[v])
			next = c.tops[v] + c.heights[v]
			if v.node != nil {
				next++
			}
		}
	}
}

// level is the row at which a vertex begins if its first line to the column before is straight.
func level(before *column, v *vertex) int {
	for _, n := range v.neighbours {
		if _, is := before.tops[n]; !is {
			continue
		}
		if v.link != nil {
			return before.tops[n] + portRow(n, v.link, endpointsOn(v, n)[0])
		}
		return before.tops[n] - portRow(v, n.link, endpointsOn(n, v)[0])
	}
	return 0
}

// endpointsOn are the interfaces of a node on a link.
func endpointsOn(link, n *vertex) []string {
	var names []string
	for _, e := range link.link.Endpoints {
		if e.Node == n.node.Name {
			names = append(names, e.Interface)
		}
	}
	return names
}

// portRow is the row of an interface in its node's box.
func portRow(n *vertex, link *plan.Link, name string) int {
	i := slices.IndexFunc(n.node.Interfaces, func(i plan.Interface) bool { return i.Name == name && i.Link == link.Name })
	return nodeHead + max(i, 0)
}

// drawPart draws the columns from left to right, with the lines between them.
func drawPart(s *sheet, p *plan.Plan, columns []*column) bool {
	x := 0
	for i, c := range columns {
		c.x = x
		for _, v := range c.vertices {
			if v.node != nil {
				drawBox(s, c, v)
			}
		}
		x += c.width
		if i+1 < len(columns) {
			g := gapBetween(p, c, columns[i+1])
			if !g.order() {
				return false
			}
			width := g.place(x)
			for _, channel := range g.channels {
				channel.draw(s, x, width)
			}
			x += width
		}
	}
	for _, c := range columns {
		for _, v := range c.vertices {
			if v.link != nil {
				drawWord(s, p, c, v)
			}
		}
	}
	return true
}

func drawBox(s *sheet, c *column, v *vertex) {
	y := c.tops[v]
	s.box(c.x, y, c.width, c.heights[v])
	if len(v.node.Interfaces) > 0 {
		s.across(c.x, c.x+c.width-1, y+nodeHead-1, light)
	}
	for i, line := range linesOf(v) {
		row := y + 1 + i
		if i >= 2 {
			row++ // below the rule
		}
		s.write(c.x+2, row, line)
	}
}

// drawWord draws a link's line through its column, with its name in it.
func drawWord(s *sheet, p *plan.Plan, c *column, v *vertex) {
	before := slices.ContainsFunc(v.neighbours, func(n *vertex) bool { return n.layer < v.layer })
	behind := slices.ContainsFunc(v.neighbours, func(n *vertex) bool { return n.layer > v.layer })
	w := light
	for _, e := range v.link.Endpoints {
		if onPath(p, e) {
			w = heavy
		}
	}
	word := " " + linesOf(v)[0] + " "
	length := utf8.RuneCountInString(word)
	start, y := c.x+1, c.tops[v]
	if before && behind {
		start = c.x + (c.width-length)/2
	}
	if before {
		s.across(c.x, start, y, w)
	}
	if behind {
		s.across(start+length-1, c.x+c.width-1, y, w)
	}
	s.write(start, y, word)
}
