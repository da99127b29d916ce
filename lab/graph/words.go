package graph

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"nines.dev/nines/plan"
)

// Words draws the network with characters: nodes as boxes, links as lines between them, or as a list where the boxes
// are wider than columns; 0 is any width. Where ascii is set, it has only characters of ASCII.
func Words(w io.Writer, p *plan.Plan, columns int, ascii bool) error {
	s, drawn := boxes(p)
	text := ""
	if drawn {
		text = s.text(ascii)
	}
	if !drawn || columns > 0 && widest(text) > columns {
		return list(w, p, ascii)
	}
	if p.Traffic != nil {
		line := "━━━"
		if ascii {
			line = "==="
		}
		text += "\n" + line + " the path of the measured traffic\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

func widest(text string) int {
	most := 0
	for line := range strings.Lines(text) {
		most = max(most, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
	}
	return most
}

// list names the interfaces of each node, and what they lead to.
func list(w io.Writer, p *plan.Plan, ascii bool) error {
	var b strings.Builder
	marked := false
	for _, v := range slices.Concat(components(p, build(p))...) { // in the order of the drawing
		if v.node == nil {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		n := *v.node
		lines := describeNode(n)
		fmt.Fprintf(&b, "%s  %s\n", lines[0], strings.Join(lines[1:], ", "))
		for at, port := range portLines(n) {
			mark := " "
			if slices.Contains(p.Endpoints(), n.Name+":"+n.Interfaces[at].Name) {
				mark, marked = "*", true
			}
			fmt.Fprintf(&b, "%s %s  %s\n", mark, port, leadsTo(p, n, n.Interfaces[at]))
		}
	}
	if marked {
		b.WriteString("\n* on the path of the measured traffic\n")
	}
	text := b.String()
	if ascii {
		text = strings.Map(func(r rune) rune {
			if r >= utf8.RuneSelf {
				return '?'
			}
			return r
		}, text)
	}
	_, err := io.WriteString(w, text)
	return err
}

// leadsTo is an interface's link, with the other ends.
func leadsTo(p *plan.Plan, n plan.Node, i plan.Interface) string {
	at := slices.IndexFunc(p.Links, func(l plan.Link) bool { return l.Name == i.Link })
	if at < 0 {
		return ""
	}
	l := p.Links[at]
	var others []string
	for _, e := range l.Endpoints {
		if e.Node != n.Name || e.Interface != i.Name {
			others = append(others, e.Name())
		}
	}
	return fmt.Sprintf("by %s (%s) to %s", l.Name, describeLink(l), strings.Join(others, ", "))
}
