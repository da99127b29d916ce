package graph

import (
	"fmt"
	"html"
	"io"
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

// SVG draws the network for a browser or a paper.
func SVG(w io.Writer, p *plan.Plan) error {
	vertices, width, height := lay(p)
	s := &svg{}
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img">`+"\n",
		width, height, width, height)
	fmt.Fprintf(s, "<title>%s</title>\n<style>%s</style>\n", html.EscapeString("The network of "+p.Name), style)
	draw(s, p, vertices)
	s.WriteString("</svg>\n")
	_, err := io.WriteString(w, s.String())
	return err
}

// svg is a canvas that writes SVG.
type svg struct{ strings.Builder }

func (s *svg) box(class, colour string, x, y, width, height, radius float64) {
	how := fmt.Sprintf(`class="%s"`, class)
	if colour != "" {
		how = fmt.Sprintf(`fill="%s"`, colour)
	}
	fmt.Fprintf(s, `<rect %s x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f"/>`+"\n", how, x, y, width, height, radius)
}

func (s *svg) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(s, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", class, x1, y1, x2, y2)
}

func (s *svg) curve(class string, x1, y1, x2, y2 float64) {
	middle := (x1 + x2) / 2
	fmt.Fprintf(s, `<path class="%s" d="M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f"/>`+"\n", class, x1, y1, middle, y1, middle, y2, x2, y2)
}

func (s *svg) text(class string, x, y float64, centred bool, text string) {
	anchor := "start"
	if centred {
		anchor = "middle"
	}
	fmt.Fprintf(s, `<text class="%s" x="%.1f" y="%.1f" text-anchor="%s" xml:space="preserve">%s</text>`+"\n", class, x, y, anchor, html.EscapeString(text))
}
