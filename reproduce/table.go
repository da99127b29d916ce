package reproduce

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/terminal"
)

// WritePapers lists papers, with how many claims each has.
func (d *Document) WritePapers(w io.Writer) error {
	s := terminal.StyleOf(w)
	t := &terminal.Table{}
	t.Words("paper")
	t.Numbers("claims", "")
	t.Numbers("decidable here", "")
	t.Words("takes")
	t.Words("")
	for _, p := range d.Papers {
		t.Row(p.ID, len(p.Claims), p.Decidable(), takes(seconds(p.TakesS)), terminal.Cut(p.Title, mostTitle))
	}
	if err := t.Write(w, s); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n'nines reproduce PAPER' lists its claims; --all or --quick measures them\n")
	return err
}

// mostTitle is how much of a title a list shows.
const mostTitle = 80

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func takes(d time.Duration) string {
	if d == 0 {
		return terminal.None
	}
	return terminal.Span(d.Round(time.Second))
}

// WriteClaims lists the claims of papers: what each says, what it needs, and its verdict if it was judged.
func (d *Document) WriteClaims(w io.Writer) error {
	s := terminal.StyleOf(w)
	var out strings.Builder
	paragraph := func(indent int, text string) {
		out.WriteString(strings.Repeat(" ", indent) + terminal.Wrap(terminal.Plain(text), indent, indent, s.Columns) + "\n")
	}
	for i, p := range d.Papers {
		if i > 0 {
			out.WriteString("\n")
		}
		paragraph(0, p.ID+": "+p.Cite())
		for _, c := range p.Claims {
			out.WriteString("\n" + s.Paint(terminal.Bold, c.ID) + "  " + terminal.Plain(c.Source) + ", " + string(c.Kind))
			if c.Judged == nil && len(c.Missing) == 0 {
				out.WriteString(", " + takes(seconds(c.TakesS)))
			}
			out.WriteString("\n")
			paragraph(2, c.Claim)
			if c.Judged == nil && c.Experiment != "" {
				paragraph(2, "tested by "+c.Experiment+"; needs "+c.Needs)
			}
			verdict, why := c.state()
			out.WriteString("  " + s.Paint(colours[verdict], string(verdict)) + "\n")
			for _, reason := range why {
				paragraph(4, reason)
			}
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// decidable stands in a list for the verdict of a claim that was not measured yet.
const decidable Verdict = "decidable here"

var colours = map[Verdict]string{Held: terminal.Green, decidable: terminal.Green, Different: terminal.Red, NotDecidable: terminal.Yellow}

// state is the verdict and its reasons, or whether there can be one.
func (c ClaimDocument) state() (Verdict, []string) {
	switch {
	case c.Judged != nil:
		if c.Early != "" {
			return c.Verdict, append(slices.Clone(c.Because), c.Early)
		}
		return c.Verdict, c.Because
	case len(c.Missing) == 0:
		return decidable, nil
	}
	return NotDecidable, c.Missing
}

// WriteTotals counts the verdicts.
func (d *Document) WriteTotals(w io.Writer) error {
	t := &terminal.Table{}
	t.Words("paper")
	for _, v := range []Verdict{Held, Different, NotDecidable} {
		t.Numbers(string(v), "")
	}
	for _, p := range d.Papers {
		t.Row(p.ID, p.Count(Held), p.Count(Different), p.Count(NotDecidable))
	}
	return t.Write(w, terminal.StyleOf(w))
}

// Total counts the claims of all papers with a verdict.
func (d *Document) Total(v Verdict) int {
	n := 0
	for _, p := range d.Papers {
		n += p.Count(v)
	}
	return n
}
