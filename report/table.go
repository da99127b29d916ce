package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// TableOptions choose what a table shows.
type TableOptions struct {
	// Repeats shows each repeat on a separate line instead of their median.
	Repeats bool
	// Searches are the search results; their findings come first.
	Searches []result.Search
}

// WriteTable writes the trials for a terminal: one line for each combination of the swept
// variables, latency in microseconds, and the disturbances below.
func WriteTable(w io.Writer, summary result.Summary, options TableOptions) error {
	s := terminal.StyleOf(w)
	totals := TotalsOf(summary.Trials, options.Searches)
	cut := cutSearches(summary.Trials, options.Searches)
	summary.Trials = result.Shown(summary.Trials, options.Searches)
	groups := Groups(summary.Trials)
	repeats := 0
	for _, g := range groups {
		repeats = max(repeats, len(g.Trials))
	}
	var out strings.Builder
	title := fmt.Sprintf("%s, %s UTC, %s", terminal.Plain(summary.Name), summary.Started.UTC().Format("2006-01-02 15:04:05"),
		terminal.Count(totals.Trials, "trial"))
	if len(options.Searches) > 0 {
		title += " of " + searchCount(options.Searches)
	}
	if repeats > 1 && !options.Repeats {
		what := "repeats"
		if slices.ContainsFunc(summary.Trials, isWindow) {
			what = "windows"
		}
		title += fmt.Sprintf(": medians of %d %s", repeats, what)
	}
	out.WriteString(s.Paint(terminal.Bold, title) + "\n\n")
	writeSearches(&out, s, options.Searches, totals)
	writeCutSearches(&out, s, cut)
	switch {
	case totals.Trials == 0:
		out.WriteString("No trial was finished.\n")
	case len(summary.Trials) > 0:
		if len(options.Searches) > 0 {
			out.WriteString("\n" + s.Paint(terminal.Bold, shownTitle(summary.Trials)+", "+totals.trials()) + "\n\n")
		}
		duets := duetTrials(summary.Trials)
		for _, t := range duets {
			writeDuet(&out, s, t)
		}
		if len(duets) == 0 && len(options.Searches) == 0 && !options.Repeats {
			writeAnswer(&out, s, summary)
		}
		if !onlyScripts(summary.Trials) && len(duets) == 0 { // a duet is the only trial of its file
			_ = trialTable(summary, groups, repeats, options).Write(&out, s) // cannot fail
		}
		if repeats > 1 && !options.Repeats {
			writeCaution(&out, s, groups)
		}
		if text := wakeText(summary.Trials); text != "" {
			out.WriteString("\n" + terminal.Wrap(text, 0, 0, s.Columns) + "\n")
		}
		writeUndisturbed(&out, s, groups, summary.Trials)
		writePaths(&out, s, summary.Trials)
		writeLosses(&out, s, summary.Trials)
		writeWindows(&out, s, summary.Trials)
		writeScripts(&out, s, summary.Trials)
		writeReasons(&out, s, summary.Trials)
	}
	writeSkipped(&out, s, summary.Skipped)
	_, err := io.WriteString(w, out.String())
	return err
}

// The table's latencies; the page and summary.csv have all of them.
var tableLatencies = []string{"p50", "p99", "p99_9", "p99_99", "max"}

func trialTable(summary result.Summary, groups []Group, repeats int, options TableOptions) *terminal.Table {
	variables := result.VariableNames(summary.Trials)
	short := shortNames(variables)
	t := &terminal.Table{}
	values := map[string]map[string]string{}
	for _, name := range variables {
		values[name] = shortValues(summary.Trials, name)
		if isNumeric(summary.Trials, name) {
			t.Numbers(terminal.Plain(short[name]), "")
		} else {
			t.Words(terminal.Plain(short[name]))
		}
	}
	if options.Repeats {
		t.Numbers("repeat", "")
	}
	figures := RateFigures()
	for _, name := range tableLatencies {
		figures = append(figures, LatencyFigure(name))
	}
	for _, f := range figures {
		t.Numbers(f.Title, f.Unit)
	}
	spread := repeats > 1 && !options.Repeats
	if spread {
		t.Numbers("p99 interval", "µs")
	}
	t.Words("verdict")

	for _, g := range groups {
		rows := []Group{g}
		if options.Repeats {
			rows = rows[:0]
			for _, trial := range g.Trials {
				rows = append(rows, Group{Variables: g.Variables, Trials: []result.Trial{trial}})
			}
		}
		for _, row := range rows {
			var cells []any
			for _, name := range variables {
				text := readable(row.Variables[name])
				cells = append(cells, terminal.Plain(cmp.Or(values[name][text], text)))
			}
			if options.Repeats {
				cells = append(cells, fmt.Sprint(row.Trials[0].Repeat))
			}
			counted := row.Counted()
			if options.Repeats { // each trial's own figures, whatever its verdict
				counted = row.Trials
			}
			for _, f := range figures {
				cells = append(cells, figureCell(counted, f))
			}
			if spread {
				cells = append(cells, intervalCell(row, LatencyFigure("p99")))
			}
			t.Row(append(cells, verdictCell(row))...)
		}
	}
	return t
}

// isNumeric reports whether all values of a variable are numbers.
func isNumeric(trials []result.Trial, name string) bool {
	for _, t := range trials {
		switch t.Variables[name].(type) {
		case nil, float64, int, int64, uint64:
		default:
			return false
		}
	}
	return true
}

// readable groups the digits of large whole numbers.
func readable(v any) string {
	if number, ok := v.(float64); ok && number == float64(int64(number)) && number >= 1000 {
		return terminal.Grouped(number)
	}
	return result.FormatVariable(v)
}

func figureCell(trials []result.Trial, f Figure) terminal.Cell {
	s := spreadOf(valuesOf(trials, f))
	if s == nil {
		return terminal.Cell{Text: terminal.None}
	}
	value := s.Median * f.Scale
	if f.Unit == "pps" {
		return terminal.Cell{Text: terminal.Grouped(value)}
	}
	return terminal.Cell{Text: terminal.Significant(value)}
}

// writeCaution warns if there are too few repeats for their interval's level.
func writeCaution(out *strings.Builder, s terminal.Style, groups []Group) {
	fewest := confidence.Interval{}
	for _, g := range groups {
		if i := repeatConfidence(len(g.Counted())); i.Bounded() && !i.Holds() && (fewest.N == 0 || i.N < fewest.N) {
			fewest = i
		}
	}
	if fewest.N > 0 {
		out.WriteString("\n" + terminal.Wrap("The p99 interval promises too much: "+fewest.Caution()+".", 0, 0, s.Columns) + "\n")
	}
}

// repeatConfidence is the confidence that so many repeats allow for the median of any figure: it
// depends only on their number.
func repeatConfidence(repeats int) confidence.Interval {
	return confidence.Median(make([]float64, repeats), bootstrapSeed)
}

// intervalCell is the 95 % interval of the repeats' median.
func intervalCell(g Group, f Figure) terminal.Cell {
	interval := medianInterval(g, f)
	if interval == nil {
		return terminal.Cell{Text: terminal.None}
	}
	return terminal.Cell{Text: fmt.Sprintf("%s to %s", terminal.Significant(interval.Low*f.Scale), terminal.Significant(interval.High*f.Scale))}
}

// medianInterval is nil for a single repeat.
func medianInterval(g Group, f Figure) *Interval {
	if s := boundedSpread(g.Values(f)); s != nil {
		return s.Interval
	}
	return nil
}

func verdictCell(g Group) terminal.Cell {
	counts := g.Verdicts()
	for _, verdict := range result.Verdicts() {
		count := counts[verdict]
		if count == 0 {
			continue
		}
		text := string(verdict)
		if count < len(g.Trials) {
			text = fmt.Sprintf("%s %d/%d", verdict, count, len(g.Trials))
		}
		return terminal.Cell{Text: text, Colour: verdictColour(verdict)}
	}
	return terminal.Cell{Text: terminal.None}
}

func verdictColour(v result.Verdict) string {
	switch v {
	case result.Clean:
		return terminal.Green
	case result.Noisy:
		return terminal.Yellow
	case result.Unmeasured:
		return terminal.Dim
	}
	return terminal.Red
}

// TableSchema names the format of WriteTableJSON.
const TableSchema = "nines/table/v1"

// groupJSON is a line of the table; unsupported figures are null.
type groupJSON struct {
	Variables map[string]any         `json:"variables"`
	Trials    []string               `json:"trials"` // IDs
	Counted   int                    `json:"counted"`
	Verdicts  map[result.Verdict]int `json:"verdicts"`
	Figures   map[string]*Spread     `json:"figures"`
}

// WriteTableJSON writes the table's lines with all figures, each as the median of the repeats with
// its interval, smallest and largest value; times are nanoseconds.
func WriteTableJSON(w io.Writer, summary result.Summary, searches []result.Search, tails []GroupTail, packets []TrialPackets) error {
	document := struct {
		Schema string      `json:"schema"`
		Name   string      `json:"name"`
		Totals Totals      `json:"totals"`
		Groups []groupJSON `json:"groups"`
		// Searches exist if search methods were run.
		Searches []SearchGroup `json:"searches,omitempty"`
		// Tails exist if they were requested.
		Tails []GroupTail `json:"tails,omitempty"`
		// Packets exist if single packets were recorded.
		Packets []TrialPackets `json:"packets,omitempty"`
	}{TableSchema, summary.Name, TotalsOf(summary.Trials, searches), []groupJSON{}, SearchGroups(searches), tails, packets}
	for _, g := range Groups(result.Shown(summary.Trials, searches)) {
		line := groupJSON{Variables: g.Variables, Trials: []string{}, Counted: len(g.Counted()),
			Verdicts: g.Verdicts(), Figures: map[string]*Spread{}}
		for _, t := range g.Trials {
			line.Trials = append(line.Trials, t.ID)
		}
		for _, f := range AllFigures() {
			line.Figures[f.Name] = boundedSpread(g.Values(f))
		}
		document.Groups = append(document.Groups, line)
	}
	return writeJSON(w, document)
}

// AllFigures are rates, loss and all latency figures, those without the host's interruptions last.
func AllFigures() []Figure {
	figures := append(RateFigures(), LatencyFigure("min"), LatencyFigure("mean"))
	for _, p := range result.NamedPercentiles() {
		figures = append(figures, LatencyFigure(p.Name))
	}
	figures = append(figures, LatencyFigure("max"))
	for _, name := range []string{"p50", "p90", "p99", "p99_9", "p99_99"} {
		figures = append(figures, UndisturbedFigure(name))
	}
	return figures
}

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(terminal.JSON(w))
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
