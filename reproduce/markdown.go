package reproduce

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes a table of claims for each paper, as docs/claims.md has them.
func (d *Document) WriteMarkdown(w io.Writer) error {
	var out strings.Builder
	if !d.Started.IsZero() {
		fmt.Fprintf(&out, "Judged on %s, %s, by `%s`.\n", d.Host, d.Started.UTC().Format("2006-01-02"), d.Command)
	}
	for _, p := range d.Papers {
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n| claim | source | what it says | kind | needs | verdict | why |\n|---|---|---|---|---|---|---|\n", p.ID, p.Cite())
		for _, c := range p.Claims {
			verdict, why := c.state()
			reasons := strings.Join(why, "; ")
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s | %s | %s |\n", c.ID, cell(c.Source), cell(c.Claim), c.Kind, cell(c.Needs), verdict, cell(reasons))
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// cell is a text as a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "\n", " ").Replace(strings.TrimSpace(text))
}
