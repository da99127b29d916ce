package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// The most windows of a soak in a table: the last ones, and the worst of those before.
const (
	lastWindows  = 12
	worstWindows = 8
)

// windowFigure ranks windows; maxFigure does if it lacks support from enough packets.
var windowFigure, maxFigure = LatencyFigure("p99_9"), LatencyFigure("max")

// writeWindows writes the windows of each soak: its latest, and the worst before.
func writeWindows(out *strings.Builder, s terminal.Style, trials []result.Trial) {
	var soaks []string
	windows := map[string][]result.Trial{}
	for _, t := range trials {
		if isWindow(t) {
			if windows[t.Search] == nil {
				soaks = append(soaks, t.Search)
			}
			windows[t.Search] = append(windows[t.Search], t)
		}
	}
	for _, id := range soaks {
		title := fmt.Sprintf("Windows of soak %s", terminal.Plain(id))
		all := windows[id]
		chosen := chooseWindows(all)
		if len(chosen) < len(all) {
			title += fmt.Sprintf(": the worst before and the last %d of %d", lastWindows, len(all))
		}
		if len(all[0].Variables) > 0 {
			title += ", " + Describe(all[0].Variables)
		}
		out.WriteString("\n" + s.Paint(terminal.Bold, title) + "\n\n")
		_ = windowTable(all, chosen).Write(out, s) // cannot fail
	}
}

func isWindow(t result.Trial) bool {
	return t.Search != "" && strings.HasPrefix(t.Purpose, result.WindowPurpose)
}

// chooseWindows returns the indexes of those to show, in order.
func chooseWindows(all []result.Trial) []int {
	var chosen []int
	before := max(len(all)-lastWindows, 0)
	if before <= worstWindows {
		before = 0
	}
	for i := range before {
		chosen = append(chosen, i)
	}
	slices.SortStableFunc(chosen, func(i, j int) int { return cmp.Compare(windowRank(all[j]), windowRank(all[i])) })
	chosen = chosen[:min(len(chosen), worstWindows)]
	slices.Sort(chosen)
	for i := before; i < len(all); i++ {
		chosen = append(chosen, i)
	}
	return chosen
}

// windowRank is larger for a worse window.
func windowRank(t result.Trial) float64 {
	if value, ok := windowFigure.Of(t); ok {
		return value
	}
	value, _ := maxFigure.Of(t)
	return value
}

func windowTable(all []result.Trial, chosen []int) *terminal.Table {
	figures := RateFigures()
	for _, name := range tableLatencies {
		figures = append(figures, LatencyFigure(name))
	}
	t := &terminal.Table{}
	t.Numbers("window", "")
	for _, f := range figures {
		t.Numbers(f.Title, f.Unit)
	}
	t.Words("verdict")
	for _, i := range chosen {
		g := Group{Trials: []result.Trial{all[i]}}
		row := []any{terminal.Grouped(float64(i + 1))}
		for _, f := range figures {
			row = append(row, figureCell(g.Trials, f))
		}
		t.Row(append(row, verdictCell(g))...)
	}
	return t
}
