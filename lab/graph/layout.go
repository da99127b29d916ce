package graph

import (
	"sort"
	"strings"
	"unicode/utf8"

	"nines.dev/nines/plan"
)

// vertex is a node or a link; edges only ever run between the two, so the layers of
// a breadth-first search hold nodes and links in turn, and each edge joins one layer
// with the next.
type vertex struct {
	node  *plan.Node
	link  *plan.Link
	layer int
	// x, y, width and height in pixels; x and y are of the upper left corner.
	x, y, width, height float64
	neighbours          []*vertex
}

// Sizes in pixels.
const (
	margin      = 24.0
	columnGap   = 90.0
	rowGap      = 22.0
	charWidth   = 7.2 // of 12 px monospace, with some air
	titleHeight = 40.0
	portHeight  = 20.0
	pillHeight  = 38.0
	minNode     = 130.0
)

// lay places all vertices and returns them with the size of the picture.
func lay(p *plan.Plan) (vertices []*vertex, width, height float64) {
	vertices = build(p)
	top := margin
	for _, component := range components(p, vertices) {
		w, h := place(component, top)
		width, height = max(width, w), h
		top = h + rowGap
	}
	return vertices, width + margin, height + margin
}

// textWidth is about how wide a text is in pixels.
func textWidth(text string) float64 { return float64(utf8.RuneCountInString(text)) * charWidth }

func build(p *plan.Plan) []*vertex {
	var all []*vertex
	byName := map[string]*vertex{}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		v := &vertex{node: n, width: minNode, height: titleHeight + portHeight*float64(len(n.Interfaces)) + 8, layer: -1}
		for _, line := range portLines(*n) {
			v.width = max(v.width, textWidth(line)+24)
		}
		lines := describeNode(*n)
		for _, line := range []string{lines[0], strings.Join(lines[1:], ", ")} { // as drawNode writes them
			v.width = max(v.width, textWidth(line)+24)
		}
		byName[n.Name] = v
		all = append(all, v)
	}
	for i := range p.Links {
		l := &p.Links[i]
		v := &vertex{link: l, height: pillHeight, layer: -1}
		v.width = max(textWidth(l.Name), textWidth(describeLink(*l))) + 40
		for _, e := range l.Endpoints {
			if n := byName[e.Node]; n != nil {
				v.neighbours = append(v.neighbours, n)
				n.neighbours = append(n.neighbours, v)
			}
		}
		all = append(all, v)
	}
	return all
}

// components returns the layers of each connected part, beginning where the traffic does, or else at its first node in
// the file.
func components(p *plan.Plan, all []*vertex) [][]*vertex {
	starts := append([]*vertex{}, all...)
	sort.SliceStable(starts, func(i, j int) bool { return rank(p, starts[i]) > rank(p, starts[j]) })
	var parts [][]*vertex
	for _, start := range starts {
		if start.layer >= 0 {
			continue
		}
		start.layer = 0
		part := []*vertex{start}
		for i := 0; i < len(part); i++ {
			for _, next := range part[i].neighbours {
				if next.layer < 0 {
					next.layer = part[i].layer + 1
					part = append(part, next)
				}
			}
		}
		parts = append(parts, part)
	}
	return parts
}

// rank is higher for a vertex that a part begins with.
func rank(p *plan.Plan, v *vertex) int {
	switch {
	case v.node == nil:
		return -1
	case p.Traffic != nil && p.Traffic.From.Node == v.node.Name:
		return 1
	}
	return 0
}

// place sets the positions of one part below top, and returns its right and lower edges.
func place(part []*vertex, top float64) (right, bottom float64) {
	var layers [][]*vertex
	for _, v := range part {
		for len(layers) <= v.layer {
			layers = append(layers, nil)
		}
		layers[v.layer] = append(layers[v.layer], v)
	}
	tallest := 0.0
	for _, layer := range layers {
		tallest = max(tallest, stackHeight(layer))
	}
	x := margin
	for _, layer := range layers {
		// Near their neighbours in the layer before, so that fewer edges cross.
		sort.SliceStable(layer, func(i, j int) bool { return centre(layer[i]) < centre(layer[j]) })
		widest := 0.0
		y := top + (tallest-stackHeight(layer))/2
		for _, v := range layer {
			v.y = y
			y += v.height + rowGap
			widest = max(widest, v.width)
		}
		for _, v := range layer {
			v.x = x + (widest-v.width)/2
		}
		x += widest + columnGap
	}
	return x - columnGap, top + tallest
}

func stackHeight(layer []*vertex) float64 {
	height := -rowGap
	for _, v := range layer {
		height += v.height + rowGap
	}
	return height
}

// centre is the mean height at which a vertex's edges meet the layer before.
func centre(v *vertex) float64 {
	sum, n := 0.0, 0
	for _, other := range v.neighbours {
		if other.layer == v.layer-1 {
			y := other.y + other.height/2
			if v.link != nil {
				y = portY(other, v.link)
			}
			sum, n = sum+y, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// portY is the height of a node's first interface on a link.
func portY(v *vertex, l *plan.Link) float64 {
	for i, iface := range v.node.Interfaces {
		if iface.Link == l.Name {
			return v.y + titleHeight + portHeight*(float64(i)+0.5)
		}
	}
	return v.y + v.height/2
}

// portLines are the interfaces of a node as the picture shows them.
func portLines(n plan.Node) []string {
	var lines []string
	for _, i := range n.Interfaces {
		line := i.Name
		if len(i.Addresses) > 0 {
			line += "  " + i.Addresses[0]
		}
		if i.Device != nil {
			line += "  DPDK"
		}
		lines = append(lines, line)
	}
	return lines
}
