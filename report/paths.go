package report

import (
	"strings"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// writePaths says by which path packets came, as they themselves tell it.
func writePaths(out *strings.Builder, s terminal.Style, trials []result.Trial) {
	var paths classes
	for _, t := range trials {
		if p := t.SeenPath; p != nil && (p.Words != "" || p.Unseen != "") {
			paths.add("", class{head: "path", colour: terminal.Bold, example: pathText(p), where: "trial " + t.ID})
		}
	}
	for _, one := range paths.list {
		if len(paths.list) == 1 {
			one.count, one.where = 1, "" // the same in all trials
		}
	}
	if len(paths.list) > 0 {
		out.WriteString("\n")
	}
	paths.write(out, s, "trial", "path", "summary.json has all")
}

// writeLosses says where lost packets are, in trials in which most of them are in one gap.
func writeLosses(out *strings.Builder, s terminal.Style, trials []result.Trial) {
	var losses classes
	for _, t := range trials {
		if t.LostAs != "" {
			losses.add("", class{head: "loss", colour: terminal.Bold, example: t.LostAs, where: "trial " + t.ID})
		}
	}
	if len(losses.list) > 0 {
		out.WriteString("\n")
	}
	losses.write(out, s, "trial", "loss", "summary.json has all")
}

func pathText(p *result.SeenPath) string {
	text := p.Words
	switch {
	case p.OfWarmup:
		text += " in the warm-up; the rest, and MAC addresses, not seen: " + p.Unseen
	case p.Unseen != "":
		return "not seen: " + p.Unseen
	}
	if !p.Declared {
		text += " (seen; the file does not say what was to be)"
	}
	return text
}
