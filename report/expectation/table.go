package expectation

import (
	"io"
	"strings"

	"nines.dev/nines/expect"
	"nines.dev/nines/terminal"
)

// WriteTable writes a paragraph for each expectation, with a sentence for each combination, and the count at the end.
func WriteTable(w io.Writer, j Judgements) error {
	s := terminal.StyleOf(w)
	var out strings.Builder
	for _, one := range j.List {
		out.WriteString(s.Paint(terminal.Bold, terminal.Plain(one.Text)) + "\n")
		for _, c := range one.Cases {
			line := c.line(one.Expectation)
			// The decision is painted after the line is broken, as its colour takes no room.
			text := terminal.Wrap(terminal.Plain(line), 2, 4, s.Columns)
			out.WriteString("  " + strings.Replace(text, string(c.Decision), s.Paint(colourOf(c.Decision), string(c.Decision)), 1) + "\n")
		}
		for _, note := range one.notes() {
			out.WriteString("  " + s.Paint(terminal.Dim, terminal.Wrap(terminal.Plain(note), 2, 4, s.Columns)) + "\n")
		}
	}
	out.WriteString(terminal.Plain(j.Headline()) + "\n")
	_, err := io.WriteString(w, out.String())
	return err
}

func colourOf(d expect.Decision) string {
	switch d {
	case expect.Holds:
		return terminal.Green
	case expect.Violated:
		return terminal.Red
	}
	return terminal.Yellow
}
