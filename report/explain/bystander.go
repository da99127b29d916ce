package explain

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// bystander says whose a thread is that ran in the place of another: its process, command and lab, or how many
// processes have such a thread. Empty if that is not known.
func bystander(trace *result.Trace, c result.Cause) string {
	if trace == nil || c.Kind != attribution.Hog && c.Kind != attribution.Priority {
		return ""
	}
	var first *result.Bystander // the list begins with what ran longest
	var processes []int
	for i, b := range trace.Bystanders {
		if b.Name != c.Name {
			continue
		}
		if first == nil {
			first = &trace.Bystanders[i]
		}
		if !slices.Contains(processes, b.PID) {
			processes = append(processes, b.PID)
		}
	}
	if first == nil {
		return ""
	}
	text := fmt.Sprintf("process %d: %s", first.PID, terminal.Plain(first.Command))
	if first.Lab != "" {
		text += ", of lab " + terminal.Plain(first.Lab)
	}
	if more := len(processes) - 1; more > 0 {
		text += "; and " + terminal.Count(more, "other")
	}
	return " (" + strings.TrimSpace(text) + ")"
}
