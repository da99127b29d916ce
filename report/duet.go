package report

import (
	"fmt"
	"strings"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// duetTrials are those that compared two sides.
func duetTrials(trials []result.Trial) []result.Trial {
	var list []result.Trial
	for _, t := range trials {
		if t.Duet != nil && len(t.Streams) == 2 {
			list = append(list, t)
		}
	}
	return list
}

// writeDuet writes what a trial decided between its sides, in sentences, and then the figures of each side.
func writeDuet(out *strings.Builder, s terminal.Style, t result.Trial) {
	for _, text := range DuetSentences(t.Duet) {
		out.WriteString(s.Paint(terminal.Bold, terminal.Wrap(text, 0, 0, s.Columns)) + "\n")
	}
	out.WriteString("\n")
	_ = duetTable(t).Write(out, s) // cannot fail
	if comparisons := comparisonTable(t.Duet); comparisons.Len() > 0 {
		out.WriteString("\n")
		_ = comparisons.Write(out, s)
	}
	out.WriteString("\n")
	for _, text := range t.Duet.Beside {
		out.WriteString(terminal.Wrap(text+".", 0, 0, s.Columns) + "\n")
	}
}

// duetTable has a line for each side.
func duetTable(t result.Trial) *terminal.Table {
	table := &terminal.Table{}
	table.Words("side")
	table.Words("what differs")
	table.Numbers("offered", "pps")
	table.Numbers("loss", "%")
	for _, name := range tableLatencies {
		f := LatencyFigure(name)
		table.Numbers(f.Title, f.Unit)
	}
	table.Words("verdict")
	for i, stream := range t.Streams {
		side := t.Duet.Sides[i]
		cells := []any{side.Name, settingsText(side), terminal.Grouped(stream.OfferedPPS), lossText(stream)}
		for _, name := range tableLatencies {
			cells = append(cells, nsText(stream.Latency.Figure(name)))
		}
		verdict := any("")
		if i == 0 {
			verdict = verdictCell(Group{Trials: []result.Trial{t}})
		}
		table.Row(append(cells, verdict)...)
	}
	return table
}

// settingsText keeps a table narrow: what is too long is told by what the side is called. The page and summary.json have the whole.
func settingsText(side result.DuetSide) string {
	text := terminal.Plain(side.Settings)
	if short := clipped(text); short == text || side.Label == "" || side.Label == "side "+side.Name {
		return short
	}
	return terminal.Plain(side.Label)
}

func lossText(s result.Stream) string {
	if s.TxPackets == 0 {
		return terminal.None
	}
	return terminal.Significant(100 * float64(s.LostPackets) / float64(s.TxPackets))
}

// nsText is a latency in microseconds.
func nsText(ns *int64) string {
	if ns == nil {
		return terminal.None
	}
	return terminal.Significant(float64(*ns) / 1000)
}

// comparisonTable has a line for each quantity.
func comparisonTable(d *result.Duet) *terminal.Table {
	table := &terminal.Table{}
	table.Words("quantity")
	table.Numbers("b − a", "µs")
	table.Numbers("95 % interval", "µs")
	table.Numbers("b / a", "")
	table.Words("decision")
	for _, c := range d.Comparisons {
		table.Row(c.Quantity, boundedText(c.Difference, c.Quantity, false), boundedText(c.Difference, c.Quantity, true), duetRatio(c.Ratio), decisionText(d, c))
	}
	return table
}

// boundedText is a difference, or its interval: microseconds, and of a loss percent.
func boundedText(b *result.Bounded, quantity string, interval bool) string {
	if b == nil {
		return terminal.None
	}
	scale := 1e-3
	if quantity == lossQuantity {
		scale = 100
	}
	if interval {
		return fmt.Sprintf("%s to %s", terminal.Significant(b.Low*scale), terminal.Significant(b.High*scale))
	}
	if quantity == lossQuantity {
		return terminal.Significant(b.Value*scale) + " %"
	}
	return terminal.Significant(b.Value * scale)
}

func duetRatio(b *result.Bounded) string {
	if b == nil {
		return terminal.None
	}
	return fmt.Sprintf("%.3f", b.Value)
}

// lossQuantity is the one quantity that is no latency.
const lossQuantity = "loss"

// decisionText is a decision in a word.
func decisionText(d *result.Duet, c result.DuetComparison) string {
	switch c.Decision {
	case result.ALower:
		return terminal.Plain(d.Sides[0].Label) + " is lower"
	case result.BLower:
		return terminal.Plain(d.Sides[1].Label) + " is lower"
	case result.Same:
		return "the same"
	}
	return "not decided"
}
