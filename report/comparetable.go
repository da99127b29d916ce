package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// comparedInTable are the figures in the terminal's table; JSON has all.
var comparedInTable = []string{"offered_pps", "received_pps", "loss_ratio", "latency_p50_ns", "latency_p99_ns",
	"latency_p99_9_ns", "latency_p99_99_ns", "latency_max_ns", "latency_undisturbed_p50_ns", "latency_undisturbed_p99_ns", "latency_undisturbed_p99_9_ns"}

// WriteComparison writes the sides for a terminal: a block for each combination of variables, a
// line for each figure.
func WriteComparison(w io.Writer, c Comparison) error {
	s := terminal.StyleOf(w)
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s\n%s %s\n", s.Paint(terminal.Bold, "A"), terminal.Plain(c.A), s.Paint(terminal.Bold, "B"), terminal.Plain(c.B))
	if len(c.Findings) > 0 {
		out.WriteString("\n" + s.Paint(terminal.Bold, "What the searches found") + "\n")
		_ = findingsTable(c.Findings).Write(&out, s) // cannot fail
	}
	var undecided classes
	for _, pair := range c.Pairs {
		out.WriteString("\n" + s.Paint(terminal.Bold, terminal.Plain(describePair(pair))) + "  " + repeatsOf(pair) + "\n")
		table, same := pairTable(pair)
		_ = table.Write(&out, s) // cannot fail
		if len(same) > 0 {
			out.WriteString(terminal.Wrap("the same on both sides: "+strings.Join(same, ", "), 0, 0, s.Columns) + "\n")
		}
		for _, reason := range pair.Against {
			undecided.add("", class{head: "not decided", colour: terminal.Yellow, example: reason, where: describePair(pair)})
		}
	}
	out.WriteString("\n")
	undecided.write(&out, s, "pair", "reason", "--format json has all")
	for _, variables := range c.OnlyA {
		fmt.Fprintf(&out, "only in A: %s\n", terminal.Plain(Describe(variables)))
	}
	for _, variables := range c.OnlyB {
		fmt.Fprintf(&out, "only in B: %s\n", terminal.Plain(Describe(variables)))
	}
	for _, note := range notes(c) {
		out.WriteString(terminal.Wrap(note, 0, 0, s.Columns) + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func describePair(p Pair) string {
	if len(p.Variables) == 0 {
		return "all trials"
	}
	return Describe(p.Variables)
}

func repeatsOf(p Pair) string {
	a, b := len(p.A.Counted()), len(p.B.Counted())
	if a == b {
		return terminal.Count(a, "repeat")
	}
	return fmt.Sprintf("%d and %s", a, terminal.Count(b, "repeat"))
}

// notes say how to read a comparison, and what it takes for granted.
func notes(c Comparison) []string {
	if len(c.Pairs) == 0 {
		if len(c.Findings) > 0 {
			return []string{}
		}
		return []string{"The sides have no combination of variables in common, so there is nothing to compare."}
	}
	list := []string{fmt.Sprintf("Values are medians of the repeats that are not invalid, with their %.0f %% intervals; B/A is the ratio of the medians, "+
		"with its own, by a percentile bootstrap over the repeats (%s draws, fixed seed).", 100*confidence.Level, terminal.Grouped(confidence.Draws))}
	if slices.ContainsFunc(c.Pairs, func(p Pair) bool { return p.A.Invalid() || p.B.Invalid() }) {
		list = append(list, "A side whose repeats are all invalid has no values.")
	}
	if c.When == steady {
		list = append(list, "The host is taken to have been the same for A and B, as --steady says; nines cannot check that.")
	}
	if c.RulesA != c.RulesB {
		list = append(list, fmt.Sprintf("A has version %d of nines' rules, and B %d (0: before 2): what the two count may differ (docs/reference/results.md).", c.RulesA, c.RulesB))
	}
	if c.ReferenceRuns > 0 {
		list = append(list, fmt.Sprintf("The intervals of B/A are at least as wide as %d runs of the reference differ from day to day. A figure that is 0 there has none.", c.ReferenceRuns))
	}
	return list
}

// pairTable has the figures of a pair, but for those that are the same on both sides, whose titles it returns.
func pairTable(p Pair) (t *terminal.Table, same []string) {
	t = &terminal.Table{}
	t.Words("")
	t.Words("")
	t.Numbers("A", "")
	t.Numbers("B", "")
	t.Numbers("B/A", "")
	t.Words(fmt.Sprintf("%.0f %% interval", 100*confidence.Level))
	t.Words("")
	for _, c := range p.Figures {
		if !contains(comparedInTable, c.Figure.Name) || c.Figure.Optional && c.A == nil && c.B == nil {
			continue
		}
		ratio, interval := ratioText(c.Ratio), intervalText(c.Interval)
		if c.Verdict == Equal || ratio == "1.000" && interval == "1.000 to 1.000" {
			same = append(same, c.Figure.Title)
			continue
		}
		t.Row(c.Figure.Title, c.Figure.Unit, sideText(c.A, c.Figure), sideText(c.B, c.Figure), ratio, interval, differenceCell(c))
	}
	verdicts := []any{"verdict", "", verdictCell(p.A), verdictCell(p.B)}
	t.Row(verdicts...)
	return t, same
}

func sideText(s *Spread, f Figure) string {
	if s == nil {
		return terminal.None
	}
	write := terminal.Significant
	if f.Unit == "pps" {
		write = terminal.Grouped[float64]
	}
	text := write(s.Median * f.Scale)
	if s.Interval != nil {
		low, high := write(s.Interval.Low*f.Scale), write(s.Interval.High*f.Scale)
		if low != high {
			text += " [" + low + ", " + high + "]"
		}
	}
	return text
}

func ratioText(ratio *float64) string {
	if ratio == nil {
		return terminal.None
	}
	return fmt.Sprintf("%.3f", *ratio)
}

func intervalText(i *Interval) string {
	if i == nil {
		return terminal.None
	}
	return fmt.Sprintf("%.3f to %.3f", i.Low, i.High)
}

// differenceCell colours better values: lower latency and loss, more packets.
func differenceCell(c Compared) terminal.Cell {
	moreIsBetter := c.Figure.Unit == "pps"
	switch c.Verdict {
	case Higher:
		return terminal.Cell{Text: "B higher", Colour: map[bool]string{true: terminal.Green, false: terminal.Red}[moreIsBetter]}
	case Lower:
		return terminal.Cell{Text: "B lower", Colour: map[bool]string{true: terminal.Red, false: terminal.Green}[moreIsBetter]}
	case Unclear:
		return terminal.Cell{Text: "not clear", Colour: terminal.Dim}
	case Undecided:
		text := "not decided"
		if c.Interval != nil {
			text += "; a difference seen"
		}
		return terminal.Cell{Text: text, Colour: terminal.Dim}
	}
	return terminal.Cell{}
}

// CompareSchema names the format of WriteComparisonJSON.
const CompareSchema = "nines/compare/v1"

type comparedJSON struct {
	A          *Spread    `json:"a"`
	B          *Spread    `json:"b"`
	Ratio      *float64   `json:"ratio"`
	Interval   *Interval  `json:"interval"`
	Difference Difference `json:"difference"`
}

type pairJSON struct {
	Variables map[string]any         `json:"variables"`
	RepeatsA  int                    `json:"repeats_a"`
	RepeatsB  int                    `json:"repeats_b"`
	VerdictsA map[result.Verdict]int `json:"verdicts_a"`
	VerdictsB map[result.Verdict]int `json:"verdicts_b"`
	// Undecided says why these trials can decide nothing; empty if they can.
	Undecided []string                `json:"undecided_because"`
	Figures   map[string]comparedJSON `json:"figures"`
}

// WriteComparisonJSON writes all figures of both sides; times are nanoseconds.
func WriteComparisonJSON(w io.Writer, c Comparison) error {
	document := struct {
		Schema string     `json:"schema"`
		A      string     `json:"a"`
		B      string     `json:"b"`
		By     string     `json:"by,omitempty"`
		Method string     `json:"method"`
		Level  float64    `json:"level"`
		Draws  int        `json:"draws"`
		Seed   int        `json:"seed"`
		Pairs  []pairJSON `json:"pairs"`
		// Findings exist if both sides have searches.
		Findings []comparedFindingJSON `json:"findings,omitempty"`
		OnlyA    []map[string]any      `json:"only_a"`
		OnlyB    []map[string]any      `json:"only_b"`
		// Notes say how to read it, and what it takes for granted.
		Notes []string `json:"notes"`
	}{CompareSchema, c.A, c.B, c.By, "percentile bootstrap of the ratio of medians over the repeats",
		confidence.Level, confidence.Draws, bootstrapSeed, []pairJSON{}, findingsJSON(c.Findings), orEmpty(c.OnlyA), orEmpty(c.OnlyB), notes(c)}
	for _, pair := range c.Pairs {
		one := pairJSON{Variables: pair.Variables, RepeatsA: len(pair.A.Counted()), RepeatsB: len(pair.B.Counted()),
			VerdictsA: pair.A.Verdicts(), VerdictsB: pair.B.Verdicts(), Undecided: pair.Against, Figures: map[string]comparedJSON{}}
		for _, f := range pair.Figures {
			one.Figures[f.Figure.Name] = comparedJSON{f.A, f.B, f.Ratio, f.Interval, f.Verdict}
		}
		document.Pairs = append(document.Pairs, one)
	}
	return writeJSON(w, document)
}

func orEmpty(list []map[string]any) []map[string]any {
	if list == nil {
		return []map[string]any{}
	}
	return list
}
