package graph

import (
	"fmt"
	"html"
	"io"
	"strings"

	"nines.dev/nines/plan"
)

// Dot writes the network in Graphviz's language.
func Dot(w io.Writer, p *plan.Plan) error {
	var b strings.Builder
	fmt.Fprintf(&b, "graph %q {\n", p.Name)
	b.WriteString("  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n")
	for _, n := range p.Nodes {
		fmt.Fprintf(&b, "  %q [shape=box, style=rounded, label=%q];\n", "node "+n.Name, strings.Join(describeNode(n), "\n"))
	}
	for _, l := range p.Links {
		fmt.Fprintf(&b, "  %q [shape=ellipse, label=%q];\n", "link "+l.Name, l.Name+"\n"+describeLink(l))
		for _, e := range l.Endpoints {
			fmt.Fprintf(&b, "  %q -- %q [taillabel=%q];\n", "node "+e.Node, "link "+l.Name, describeEnd(e))
		}
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// Mermaid writes the network as a Mermaid flow chart, which GitHub shows in Markdown.
func Mermaid(w io.Writer, p *plan.Plan) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	id := map[string]string{}
	for i, n := range p.Nodes {
		id[n.Name] = fmt.Sprintf("n%d", i)
		fmt.Fprintf(&b, "  n%d[\"%s\"]\n", i, quoteLines(describeNode(n)))
	}
	for i, l := range p.Links {
		fmt.Fprintf(&b, "  l%d([\"%s\"])\n", i, quoteLines([]string{l.Name, describeLink(l)}))
		for _, e := range l.Endpoints {
			fmt.Fprintf(&b, "  %s -- \"%s\" --- l%d\n", id[e.Node], html.EscapeString(describeEnd(e)), i)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func quoteLines(lines []string) string {
	for i := range lines {
		lines[i] = html.EscapeString(lines[i])
	}
	return strings.Join(lines, "<br/>")
}

// describeLink is a link's kind, with the CPUs of its program or its VLAN.
func describeLink(l plan.Link) string {
	if len(l.Endpoints) > 0 && l.Endpoints[0].Function.VLAN > 0 {
		return fmt.Sprintf("%s, VLAN %d", l.Kind, l.Endpoints[0].Function.VLAN)
	}
	if l.Management {
		return string(l.Kind) + ", not measured"
	}
	if l.Switch == nil || len(l.Switch.CPUs) == 0 {
		return string(l.Kind)
	}
	return string(l.Kind) + ", CPU " + numbers(l.Switch.CPUs)
}

// describeEnd is an endpoint's interface, and how it attaches where it bypasses the kernel.
func describeEnd(e plan.Endpoint) string {
	switch f := e.Function; {
	case f.Address == "":
	case f.Whole():
		return fmt.Sprintf("%s (%s)", e.Interface, f.Address)
	default:
		return fmt.Sprintf("%s (VF %d of %s)", e.Interface, f.Index, f.Name)
	}
	if e.Attach == "" || e.Attach == plan.AttachVeth {
		return e.Interface
	}
	return e.Interface + " (" + string(e.Attach) + ")"
}

func numbers(list []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(list)), ","), "[]")
}

// describeNode is a node's name and its description, on separate lines.
func describeNode(n plan.Node) []string {
	lines := []string{n.Name, string(n.Runtime)}
	if len(n.CPUs) > 0 {
		lines[1] += ", CPU " + numbers(n.CPUs)
	}
	if n.App != nil {
		lines = append(lines, string(n.App.Kind))
	}
	return lines
}
