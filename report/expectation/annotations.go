package expectation

import (
	"fmt"
	"io"
	"strings"

	"nines.dev/nines/expect"
	"nines.dev/nines/terminal"
)

// WriteGitHub writes GitHub's workflow commands: an error at the line of each expectation that is violated, and a warning
// where one is undecided. Its runner takes them from what a step prints.
func WriteGitHub(w io.Writer, j Judgements) error {
	for _, one := range j.List {
		for _, c := range one.Cases {
			level := map[expect.Decision]string{expect.Violated: "error", expect.Undecided: "warning"}[c.Decision]
			if level == "" {
				continue
			}
			properties := []string{"title=" + property(one.Text)}
			if p := one.Place; p.File != "" && p.Line > 0 {
				properties = append([]string{"file=" + property(p.File), fmt.Sprintf("line=%d", p.Line), fmt.Sprintf("col=%d", p.Column)}, properties...)
			}
			text := c.Sentence(one.Expectation)
			if about := c.About(); about != "" {
				text = about + ": " + text
			}
			if _, err := fmt.Fprintf(w, "::%s %s::%s\n", level, strings.Join(properties, ","), data(text)); err != nil {
				return err
			}
		}
	}
	return nil
}

// data escapes what ends a workflow command, and property also what ends one of its properties (as toolkit/core of
// GitHub's actions does).
func data(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(terminal.Plain(text))
}

func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(text))
}
