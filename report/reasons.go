package report

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"nines.dev/nines/result"
)

// maxReasons bounds the lines below a table.
const maxReasons = 6

// writeReasons tells what the verdicts rest on: reasons that differ only in
// their numbers are one line, with the trial that stands for them.
func writeReasons(out *strings.Builder, s style, trials []result.Trial) {
	type class struct {
		example, id string
		verdict     result.Verdict
		count       int
		position    int // the first in a trial's list is what decided
	}
	var classes []*class
	byForm := map[string]*class{}
	for _, t := range trials {
		for position, reason := range t.Reasons {
			form := string(t.Verdict) + withoutNumbers(reason)
			if byForm[form] == nil {
				byForm[form] = &class{example: reason, id: t.ID, verdict: t.Verdict, position: position}
				classes = append(classes, byForm[form])
			}
			byForm[form].count++
			byForm[form].position = min(byForm[form].position, position)
		}
	}
	if len(classes) == 0 {
		return
	}
	rank := map[result.Verdict]int{result.Invalid: 0, result.Noisy: 1, result.Clean: 2}
	sort.SliceStable(classes, func(i, j int) bool {
		if a, b := rank[classes[i].verdict], rank[classes[j].verdict]; a != b {
			return a < b
		}
		if a, b := classes[i].position, classes[j].position; a != b {
			return a < b
		}
		return classes[i].count > classes[j].count
	})
	out.WriteString("\n")
	for i, c := range classes {
		if i == maxReasons {
			fmt.Fprintf(out, "and %s more; summary.csv has all\n", plural(len(classes)-i, "kind of reason"))
			break
		}
		where := fmt.Sprintf("trial %s", plain(c.id))
		if c.count > 1 {
			where = fmt.Sprintf("%s, such as trial %s", plural(c.count, "trial"), plain(c.id))
		}
		head := s.paint(verdictColour(c.verdict), string(c.verdict))
		indent := utf8.RuneCountInString(string(c.verdict)) + 2
		out.WriteString(head + "  " + wrap(fmt.Sprintf("%s: %s", where, plain(c.example)), indent, s.columns) + "\n")
	}
}

// withoutNumbers makes reasons comparable that differ in their figures only.
func withoutNumbers(reason string) string {
	words := strings.Fields(reason)
	for i, word := range words {
		if strings.ContainsAny(word, "0123456789") {
			words[i] = "#"
		}
	}
	return strings.Join(words, " ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasPrefix(noun, "kind of ") {
		return fmt.Sprintf("%d kinds of %s", n, strings.TrimPrefix(noun, "kind of "))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// wrap breaks text at spaces, with later lines indented.
func wrap(text string, indent, columns int) string {
	width := max(columns-indent, 20)
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = word
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	lines = append(lines, line)
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent))
}
