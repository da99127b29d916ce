package graph

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"nines.dev/nines/plan"
)

// style follows the reader's light or dark theme.
const style = `
  svg { background: #ffffff; font: 12px ui-monospace, Menlo, Consolas, monospace; }
  .node { fill: #f6f8fa; stroke: #57606a; }
  .title { font-weight: 600; font-size: 13px; fill: #1f2328; }
  .detail { fill: #656d76; font-size: 11px; }
  .port { fill: #1f2328; }
  .rule { stroke: #d0d7de; }
  .name { fill: #ffffff; font-weight: 600; }
  .kind { fill: #ffffff; font-size: 10px; }
  .edge { fill: none; stroke: #8c959f; stroke-width: 1.6; }
  .traffic { stroke: #d55e00; stroke-width: 2.6; }
  @media (prefers-color-scheme: dark) {
    svg { background: #0d1117; }
    .node { fill: #161b22; stroke: #8b949e; }
    .title, .port { fill: #e6edf3; }
    .detail { fill: #8b949e; }
    .rule { stroke: #30363d; }
    .edge { stroke: #6e7681; }
    .traffic { stroke: #e69f00; }
  }
`

// SVG draws the network: nodes as boxes with their interfaces, links as pills, the
// path of the measured traffic in colour.
func SVG(w io.Writer, p *plan.Plan) error {
	vertices, width, height := lay(p)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<style>%s</style>\n", html.EscapeString("The network of "+p.Name), style)
	for _, v := range vertices {
		if v.link != nil {
			drawEdges(&b, p, v)
		}
	}
	for _, v := range vertices {
		if v.node != nil {
			drawNode(&b, v)
		} else {
			drawLink(&b, v)
		}
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func drawNode(b *strings.Builder, v *vertex) {
	fmt.Fprintf(b, `<rect class="node" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="8"/>`+"\n", v.x, v.y, v.width, v.height)
	lines := describeNode(*v.node)
	text(b, "title", v.x+12, v.y+17, "start", lines[0])
	text(b, "detail", v.x+12, v.y+32, "start", strings.Join(lines[1:], ", "))
	if len(v.node.Interfaces) > 0 {
		fmt.Fprintf(b, `<line class="rule" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", v.x, v.y+titleHeight, v.x+v.width, v.y+titleHeight)
	}
	for i, line := range portLines(*v.node) {
		text(b, "port", v.x+12, v.y+titleHeight+portHeight*float64(i)+14, "start", line)
	}
}

func drawLink(b *strings.Builder, v *vertex) {
	fmt.Fprintf(b, `<rect fill="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f"/>`+"\n",
		v.link.Kind.Descriptor().Colour, v.x, v.y, v.width, v.height, v.height/2)
	text(b, "name", v.x+v.width/2, v.y+16, "middle", v.link.Name)
	text(b, "kind", v.x+v.width/2, v.y+29, "middle", describeLink(*v.link))
}

// drawEdges draws a curve from each interface on a link to the link.
func drawEdges(b *strings.Builder, p *plan.Plan, link *vertex) {
	for i, n := range link.neighbours {
		e := endpointOf(link, n, i)
		if e == nil {
			continue
		}
		x1, x2 := n.x+n.width, link.x
		if n.layer > link.layer {
			x1, x2 = n.x, link.x+link.width
		}
		y1, y2 := interfaceY(n, e.Interface), link.y+link.height/2
		class := "edge"
		if onPath(p, *e) {
			class += " traffic"
		}
		middle := (x1 + x2) / 2
		fmt.Fprintf(b, `<path class="%s" d="M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f"/>`+"\n", class, x1, y1, middle, y1, middle, y2, x2, y2)
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

func text(b *strings.Builder, class string, x, y float64, anchor, s string) {
	fmt.Fprintf(b, `<text class="%s" x="%.1f" y="%.1f" text-anchor="%s" xml:space="preserve">%s</text>`+"\n", class, x, y, anchor, html.EscapeString(s))
}
