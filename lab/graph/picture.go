package graph

import (
	"slices"
	"strings"

	"nines.dev/nines/plan"
)

// canvas is what a picture is drawn on, in pixels. A class is the name of a colour and weight in the style.
type canvas interface {
	// box fills a rectangle with round corners; colour is empty for the class's.
	box(class, colour string, x, y, width, height, radius float64)
	line(class string, x1, y1, x2, y2 float64)
	// curve draws a line that leaves and arrives level.
	curve(class string, x1, y1, x2, y2 float64)
	// text writes from x on, or on both sides of it.
	text(class string, x, y float64, centred bool, text string)
}

// draw draws the network: nodes as boxes with their interfaces, links as pills, the path of the measured traffic in
// colour.
func draw(c canvas, p *plan.Plan, vertices []*vertex) {
	for _, v := range vertices {
		if v.link != nil {
			drawEdges(c, p, v)
		}
	}
	for _, v := range vertices {
		if v.node != nil {
			drawNode(c, v)
		} else {
			drawLink(c, v)
		}
	}
}

func drawNode(c canvas, v *vertex) {
	c.box("node", "", v.x, v.y, v.width, v.height, 8)
	lines := describeNode(*v.node)
	c.text("title", v.x+12, v.y+17, false, lines[0])
	c.text("detail", v.x+12, v.y+32, false, strings.Join(lines[1:], ", "))
	if len(v.node.Interfaces) > 0 {
		c.line("rule", v.x, v.y+titleHeight, v.x+v.width, v.y+titleHeight)
	}
	for i, line := range portLines(*v.node) {
		c.text("port", v.x+12, v.y+titleHeight+portHeight*float64(i)+14, false, line)
	}
}

func drawLink(c canvas, v *vertex) {
	c.box("", v.link.Kind.Descriptor().Colour, v.x, v.y, v.width, v.height, v.height/2)
	c.text("name", v.x+v.width/2, v.y+16, true, v.link.Name)
	c.text("kind", v.x+v.width/2, v.y+29, true, describeLink(*v.link))
}

// drawEdges draws a curve from each interface on a link to the link.
func drawEdges(c canvas, p *plan.Plan, link *vertex) {
	for i, n := range link.neighbours {
		e := endpointOf(link, n, i)
		if e == nil {
			continue
		}
		x1, x2 := n.x+n.width, link.x
		if n.layer > link.layer {
			x1, x2 = n.x, link.x+link.width
		}
		class := "edge"
		if onPath(p, *e) {
			class += " traffic"
		}
		c.curve(class, x1, interfaceY(n, e.Interface), x2, link.y+link.height/2)
	}
}

// endpointOf is the endpoint that the i-th edge of a link belongs to; a node may
// have several interfaces on one link.
func endpointOf(link, n *vertex, i int) *plan.Endpoint {
	if i < len(link.link.Endpoints) && link.link.Endpoints[i].Node == n.node.Name {
		return &link.link.Endpoints[i]
	}
	return nil
}

func interfaceY(v *vertex, name string) float64 {
	for i, iface := range v.node.Interfaces {
		if iface.Name == name {
			return v.y + titleHeight + portHeight*(float64(i)+0.5)
		}
	}
	return v.y + v.height/2
}

func onPath(p *plan.Plan, e plan.Endpoint) bool {
	return slices.Contains(p.Endpoints(), e.Name())
}
