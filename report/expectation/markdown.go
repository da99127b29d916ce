package expectation

import (
	"fmt"
	"io"
	"strings"

	"nines.dev/nines/expect"
	"nines.dev/nines/terminal"
)

// marks stand before a decision, so that it is seen at a glance.
var marks = map[expect.Decision]string{expect.Holds: "✅", expect.Violated: "❌", expect.Undecided: "❔"}

// WriteMarkdown writes a summary for a page of CI, with a row for each expectation and combination.
func WriteMarkdown(w io.Writer, j Judgements) error {
	var out strings.Builder
	fmt.Fprintf(&out, "### %s %s: %s\n\n", marks[j.Decision], markdown(j.Name), markdown(j.Headline()))
	swept := false
	for _, one := range j.List {
		for _, c := range one.Cases {
			swept = swept || c.About() != ""
		}
	}
	row := func(cells ...string) {
		if !swept {
			cells = append(cells[:1], cells[2:]...)
		}
		out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	row("expectation", "of", "measured (95 % interval)", "decision")
	row("---", "---", "---", "---")
	var details []string
	for _, one := range j.List {
		for i, c := range one.Cases {
			name := ""
			if i == 0 {
				name = code(one.Text)
			}
			row(name, markdown(c.About()), markdown(c.Measured(one.Expectation)+c.limit(one.Expectation)), marks[c.Decision]+" "+string(c.Decision))
			if c.Decision != expect.Holds {
				about := ""
				if c.About() != "" {
					about = " of " + markdown(c.About())
				}
				details = append(details, fmt.Sprintf("- %s%s: %s", code(one.Text), about, markdown(c.Sentence(one.Expectation))))
			}
		}
		for _, note := range one.notes() {
			details = append(details, fmt.Sprintf("- %s: %s", code(one.Text), markdown(note)))
		}
	}
	if len(details) > 0 {
		out.WriteString("\n" + strings.Join(details, "\n") + "\n")
	}
	fmt.Fprintf(&out, "\nResult: %s\n\n", code(j.Dir))
	_, err := io.WriteString(w, out.String())
	return err
}

// markdown is a text in which nothing acts as markup.
func markdown(text string) string {
	var out strings.Builder
	for _, r := range terminal.Plain(text) {
		if strings.ContainsRune("\\`*_{}[]<>#|~&", r) {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

// code is a text as code, in a table, too.
func code(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(terminal.Plain(text), "|", "\\|"), "`", "'")
	return "`" + text + "`"
}
