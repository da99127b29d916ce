package report

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// mostScriptRows is how many scripts a table shows; those that failed come first where there are
// more.
const mostScriptRows = 60

// mostUploads is how many names of uploads a line has.
const mostUploads = 4

// onlyScripts is true where no trial sent packets, so that a table of figures would be empty.
func onlyScripts(trials []result.Trial) bool {
	return !slices.ContainsFunc(trials, func(t result.Trial) bool { return len(t.Scripts) == 0 || t.TxPackets > 0 || t.OfferedPPS > 0 })
}

// writeScripts writes how the nodes' scripts ended in each trial, and what they uploaded.
func writeScripts(out *strings.Builder, s terminal.Style, trials []result.Trial) {
	type row struct {
		trial  result.Trial
		script result.Script
	}
	var rows []row
	for _, t := range trials {
		for _, script := range t.Scripts {
			rows = append(rows, row{t, script})
		}
	}
	if len(rows) == 0 {
		return
	}
	all := len(rows)
	if all > mostScriptRows {
		slices.SortStableFunc(rows, func(a, b row) int {
			return rankOfStatus(a.script) - rankOfStatus(b.script)
		})
		rows = rows[:mostScriptRows]
	}
	variables := result.VariableNames(trials)
	short := shortNames(variables)
	t := &terminal.Table{}
	t.Words("trial")
	for _, name := range variables {
		t.Words(terminal.Plain(short[name]))
	}
	t.Words("node")
	t.Words("status")
	t.Numbers("took", "s")
	t.Words("uploads")
	for _, r := range rows {
		cells := []any{r.trial.ID}
		for _, name := range variables {
			cells = append(cells, terminal.Plain(readable(r.trial.Variables[name])))
		}
		colour := terminal.Green
		if r.script.How != "" {
			colour = terminal.Red
		}
		t.Row(append(cells, terminal.Plain(r.script.Node), terminal.Cell{Text: terminal.Plain(r.script.Status), Colour: colour},
			terminal.Significant(float64(r.script.TookNs)/1e9), uploads(r.script))...)
	}
	out.WriteString("\n" + s.Paint(terminal.Bold, "scripts") + "\n\n")
	_ = t.Write(out, s) // cannot fail
	if all > len(rows) {
		fmt.Fprintf(out, "and %d more; summary.json has all\n", all-len(rows))
	}
	fmt.Fprintf(out, "Output is in %s/TRIAL/NODE/, uploads are in %[1]s/TRIAL/NODE/uploads/.\n", result.ScriptsFolder)
}

// rankOfStatus is 0 for a script that failed.
func rankOfStatus(s result.Script) int {
	if s.How != "" {
		return 0
	}
	return 1
}

// uploads names the first uploads.
func uploads(s result.Script) string {
	names := s.Uploads
	if len(names) == 0 {
		return terminal.None
	}
	text := terminal.Plain(strings.Join(names[:min(mostUploads, len(names))], " "))
	if more := len(names) + s.MoreUploads - min(mostUploads, len(names)); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
