package report

import (
	"cmp"
	"slices"
	"strings"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// writeReasons writes the reasons of the verdicts, with example trials.
func writeReasons(out *strings.Builder, s terminal.Style, trials []result.Trial) {
	var reasons classes
	type place struct{ verdict, position int }
	places := map[*class]place{}
	for _, t := range trials {
		for position, reason := range t.Reasons {
			of := reasons.add(string(t.Verdict), class{
				head: string(t.Verdict), colour: verdictColour(t.Verdict), example: reason, where: "trial " + t.ID,
			})
			if before, seen := places[of]; seen {
				position = min(position, before.position)
			}
			places[of] = place{slices.Index(result.Verdicts(), t.Verdict), position}
		}
	}
	// The first in a trial's list was decisive.
	slices.SortStableFunc(reasons.list, func(a, b *class) int {
		return cmp.Or(cmp.Compare(places[a].verdict, places[b].verdict),
			cmp.Compare(places[a].position, places[b].position), cmp.Compare(b.count, a.count))
	})
	if len(reasons.list) > 0 {
		out.WriteString("\n")
	}
	reasons.write(out, s, "trial", "reason", "summary.csv has all")
}
