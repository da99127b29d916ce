package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// writeSearches writes what searches found: a line for each figure, followed by notes.
func writeSearches(out *strings.Builder, s terminal.Style, searches []result.Search, totals Totals) {
	if len(searches) == 0 {
		return
	}
	groups := SearchGroups(searches)
	_ = searchTable(groups).Write(out, s) // cannot fail
	out.WriteString("\n")
	writeBetween(out, s, groups)
	writeFindingReasons(out, s, groups)
	writeConformance(out, s, groups)
	var measuring time.Duration
	for _, g := range groups {
		measuring += time.Duration(g.MeasuringNs)
	}
	out.WriteString(s.Paint(terminal.Dim, fmt.Sprintf("%s in %s of measuring: %s", terminal.Count(totals.Trials, "trial"), terminal.Span(measuring), totals.packets())) + "\n")
}

func searchTable(groups []SearchGroup) *terminal.Table {
	var variables []string // in sweep order, as in trials
	var asTrials []result.Trial
	for _, g := range groups {
		asTrials = append(asTrials, result.Trial{Variables: g.Variables})
	}
	variables = result.VariableNames(asTrials)
	short := shortNames(variables)
	has := func(some func(GroupFinding) bool) bool {
		return slices.ContainsFunc(groups, func(g SearchGroup) bool {
			return slices.ContainsFunc(g.Findings, some)
		})
	}
	methods := map[string]bool{}
	for _, g := range groups {
		methods[g.Method] = true
	}
	at := has(func(f GroupFinding) bool { return f.At != "" })
	bounds := has(func(f GroupFinding) bool { return f.Low != nil || f.High != nil })
	limits := has(func(f GroupFinding) bool { return f.Limit != nil })
	verdicts := has(func(f GroupFinding) bool { return f.Passed != nil })

	t := &terminal.Table{}
	for _, name := range variables {
		if isNumeric(asTrials, name) {
			t.Numbers(terminal.Plain(short[name]), "")
		} else {
			t.Words(terminal.Plain(short[name]))
		}
	}
	if len(methods) > 1 {
		t.Words("method")
	}
	t.Words("finding")
	if at {
		t.Words("at")
	}
	t.Numbers("value", "")
	if bounds {
		t.Numbers("low", "")
		t.Numbers("high", "")
	}
	if limits {
		t.Numbers("limit", "")
	}
	t.Words("unit")
	if verdicts {
		t.Words("verdict")
	}
	for _, g := range groups {
		for _, f := range g.Findings {
			var row []any
			add := func(text string) { row = append(row, text) }
			for _, name := range variables {
				add(terminal.Plain(readable(g.Variables[name])))
			}
			if len(methods) > 1 {
				add(terminal.Plain(g.Method))
			}
			add(terminal.Plain(f.Name))
			if at {
				add(f.At)
			}
			add(f.valueText())
			if bounds {
				add(optionalText(f.Low, f.Unit))
				add(optionalText(f.High, f.Unit))
			}
			if limits {
				add(optionalText(f.Limit, f.Unit))
			}
			add(findingUnit(f.Unit))
			if verdicts {
				row = append(row, passedCell(f.Passed))
			}
			t.Row(row...)
		}
	}
	return t
}

func passedCell(passed *bool) terminal.Cell {
	switch {
	case passed == nil:
		return terminal.Cell{}
	case *passed:
		return terminal.Cell{Text: "passed", Colour: terminal.Green}
	default:
		return terminal.Cell{Text: "failed", Colour: terminal.Red}
	}
}

// writeBetween says what low and high mean.
func writeBetween(out *strings.Builder, s terminal.Style, groups []SearchGroup) {
	var most int
	var bounds bool
	for _, g := range groups {
		for _, f := range g.Findings {
			if f.Between == betweenRepeats {
				most = max(most, f.Repeats)
			} else {
				bounds = bounds || f.Low != nil || f.High != nil
			}
		}
	}
	switch {
	case most > 0:
		text := fmt.Sprintf("values are medians of %d repeats; low and high are the %.0f %% bootstrap interval of the median", most, 100*confidence.Level)
		if caution := confidence.Median(make([]float64, most), bootstrapSeed).Caution(); caution != "" {
			text += ": " + caution
		}
		out.WriteString(s.Paint(terminal.Dim, terminal.Wrap(text, 0, 0, s.Columns)) + "\n")
	case bounds:
		out.WriteString(s.Paint(terminal.Dim, terminal.Wrap("low and high are the last bounds of a search, or minimum and maximum of its repeats", 0, 0, s.Columns)) + "\n")
	}
}

// writeFindingReasons says why figures are missing, and what is odd about others.
func writeFindingReasons(out *strings.Builder, s terminal.Style, groups []SearchGroup) {
	var reasons classes
	for _, g := range groups {
		for _, f := range g.Findings {
			one := class{head: "note", colour: terminal.Yellow, where: f.Name}
			if f.Value == nil {
				one.head, one.colour = "no value", terminal.Red
			}
			if len(g.Variables) > 0 {
				one.where = fmt.Sprintf("%s with %s", f.Name, Describe(g.Variables))
			}
			for _, reason := range f.Reasons {
				one.example = reason
				reasons.add(one.head+f.Name, one)
			}
		}
	}
	reasons.write(out, s, "time", "note", "searches.json has all")
}

// writeConformance says whether the standards' conditions were met, and which were not: each once.
func writeConformance(out *strings.Builder, s terminal.Style, groups []SearchGroup) {
	type method struct {
		searches, conformant int
		deviations           []string
		deviates             map[string]bool
		failed, judged       int
	}
	var order []string
	by := map[string]*method{}
	for _, g := range groups {
		m := by[g.Method]
		if m == nil {
			m = &method{deviates: map[string]bool{}}
			by[g.Method], order = m, append(order, g.Method)
		}
		m.searches++
		if g.Conformant {
			m.conformant++
		}
		if g.Passed != nil {
			m.judged++
			if !*g.Passed {
				m.failed++
			}
		}
		for _, deviation := range g.Deviations {
			m.deviations = appendOnce(m.deviations, deviation, m.deviates)
		}
	}
	line := func(head, colour, text string) {
		out.WriteString(s.Paint(colour, head) + "  " + terminal.Wrap(terminal.Plain(text), len(head)+2, len(head)+2, s.Columns) + "\n")
	}
	for _, name := range order {
		m := by[name]
		switch {
		case m.failed > 0:
			line("failed", terminal.Red, fmt.Sprintf("%s: %d of %s", name, m.failed, terminal.Count(m.judged, "combination")))
		case m.judged > 0:
			line("passed", terminal.Green, name)
		}
		if m.conformant == m.searches {
			line("conformant", terminal.Green, name)
			continue
		}
		for _, text := range byReason(m.deviations) {
			if len(order) > 1 {
				text = name + ": " + text
			}
			line("not conformant", terminal.Yellow, text)
		}
	}
}

// byReason joins the deviations with the same reason, which each of them has at its end after a
// comma, so that everything shortened by quick is one paragraph.
func byReason(deviations []string) []string {
	const because = ", because "
	var reasons []string
	of := map[string][]string{}
	for _, deviation := range deviations {
		what, reason := deviation, ""
		if at := strings.LastIndex(deviation, because); at >= 0 {
			what, reason = deviation[:at], deviation[at+len(because):]
		}
		if of[reason] == nil {
			reasons = append(reasons, reason)
		}
		of[reason] = append(of[reason], what)
	}
	var texts []string
	for _, reason := range reasons {
		text := strings.Join(of[reason], "; ")
		if reason != "" {
			text = "because " + reason + ": " + text
		}
		texts = append(texts, text)
	}
	return texts
}

// writeCutSearches reports interrupted searches.
func writeCutSearches(out *strings.Builder, s terminal.Style, cut []cutSearch) {
	for _, c := range cut {
		what := fmt.Sprintf("search %s was interrupted after %s; 'nines run --resume DIR' continues it", c.id, terminal.Count(c.trials, "trial"))
		if c.windows {
			// Its windows are shown as they are.
			what = fmt.Sprintf("the soak %s was interrupted after %s; 'nines run --resume DIR' continues it", c.id, terminal.Count(c.trials, "window"))
		}
		const head = "unfinished"
		out.WriteString(s.Paint(terminal.Yellow, head) + "  " + terminal.Wrap(terminal.Plain(what), len(head)+2, len(head)+2, s.Columns) + "\n\n")
	}
}

// shownTitle is the title of the trials below the findings.
func shownTitle(trials []result.Trial) string {
	for _, t := range trials {
		if isWindow(t) {
			return "All windows, by their medians"
		}
		if t.Search != "" {
			return "Latency at fractions of the result"
		}
	}
	return "Trials"
}
