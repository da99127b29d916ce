package main

import (
	"fmt"
	"io"
	"time"

	"nines.dev/nines/analyze"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// latencies has for each direction a row of the packets that the page has too, and one of all
// arrivals if there are more.
func latencies(s analyze.Summary) *terminal.Table {
	names := []string{"min", "mean"}
	for _, p := range result.NamedPercentiles() {
		names = append(names, p.Name)
	}
	names = append(names, "max")
	t := &terminal.Table{}
	heads := []any{"latency ns"}
	for _, name := range names {
		heads = append(heads, name)
	}
	t.Row(heads...)
	row := func(of string, p result.Percentiles) {
		cells := []any{of}
		for _, name := range names {
			cell := "–"
			if ns := p.Figure(name); ns != nil {
				cell = fmt.Sprint(*ns)
			}
			cells = append(cells, cell)
		}
		t.Row(cells...)
	}
	for _, d := range directions(s) {
		where := ""
		if s.Back != nil {
			where = ", " + d.name
		}
		if d.AllArrivals == nil {
			row(terminal.Count(int(d.Latency.Count), "packet")+where, d.Latency)
			continue
		}
		row(terminal.Count(int(d.Latency.Count), "first arrival")+where, d.Latency)
		row(terminal.Count(int(d.AllArrivals.Count), "arrival")+where, *d.AllArrivals)
	}
	return t
}

// direction is one of those that have packets, with its name in the table.
type direction struct {
	name     string
	from, to string
	analyze.DirectionSummary
}

func directions(s analyze.Summary) []direction {
	all := []direction{{"pre > post", "PRE", "POST", s.DirectionSummary}}
	if s.Back != nil {
		all = append(all, direction{"post > pre", "POST", "PRE", *s.Back})
	}
	return all
}

// counts writes what became of the packets of a direction.
func counts(t *terminal.Table, s analyze.Summary, d direction) {
	line := func(name, format string, args ...any) { t.Row(name, fmt.Sprintf(format, args...)) }
	if s.Back != nil {
		line(d.name, "%s captured before, %d after", terminal.Count(int(d.FromPackets), "packet"), d.ToPackets)
	}
	n, of := d.Counts, ""
	if s.TrimNs > 0 {
		of = ", with what the trim leaves out"
	}
	line("pairs", "%d by the key %s%s", n.Pairs, s.Key, of)
	least := ""
	if n.OutsideOrLost > 0 {
		least = "at least "
	}
	line("lost", "%s%d by key (%.4g %%), %d by counts%s", least, n.Lost, 100*d.LossRatio, d.LostByCounts, of)
	for _, other := range []struct {
		name, what string
		count      uint64
	}{
		{"outside or lost", fmt.Sprintf("of %s: the files cannot tell", d.from), n.OutsideOrLost},
		{"outside", fmt.Sprintf("of %s, while %s did not capture", d.from, d.to), n.Outside},
		{"duplicates", "arrived more than once", n.Again},
		{"copies", fmt.Sprintf("of %s are copies of others, and left out", d.from), n.PreCopies},
		{"ambiguous", fmt.Sprintf("of %s have an ambiguous key", d.from), n.PreAmbiguous},
		{"unknown", fmt.Sprintf("of %s are not in %s", d.to, d.from), n.PostUnknown},
		{"early", fmt.Sprintf("of %s are earlier than in %s", d.to, d.from), n.Early},
		{"late", fmt.Sprintf("of %s are too late", d.to), n.Late},
		{"without time", "are in both captures, but have no time in one of them", n.Untimed},
		{"segmented", "are cut or joined by segmentation offload", n.PreSegmented + n.PostSegmented},
		{"other hosts", "are between hosts of which the other capture has none", n.PreForeign + n.PostForeign},
		{"without key", "", n.PreUnkeyed + n.PostUnkeyed},
	} {
		if other.count > 0 {
			line(other.name, "%d %s", other.count, other.what)
		}
	}
}

// writeAnalysis writes a summary as a table.
func writeAnalysis(out io.Writer, s analyze.Summary) error {
	t := &terminal.Table{}
	line := func(name, format string, args ...any) { t.Row(name, fmt.Sprintf(format, args...)) }
	for _, c := range []struct {
		name string
		of   analyze.CaptureSummary
	}{{"pre", s.Pre}, {"post", s.Post}} {
		line(c.name, "%s: %s in %.3f s, %.0f a second", c.of.Path, terminal.Count(int(c.of.Packets), "packet"), float64(c.of.LastNs-c.of.FirstNs)/1e9, c.of.PPS)
	}
	for _, d := range directions(s) {
		counts(t, s, d)
	}
	if err := t.Write(out, terminal.Style{}); err != nil {
		return err
	}
	if err := latencies(s).Write(out, terminal.Style{}); err != nil {
		return err
	}
	w := sentences{out: out, style: terminal.StyleOf(out)}
	for i, c := range s.Changes {
		w.say("changed", i, fmt.Sprint(c))
	}
	if s.ResolutionNs > 1 {
		w.say("bound", 0, fmt.Sprintf("each latency ± %d: the times are in steps of %v", s.ResolutionNs, time.Duration(s.ResolutionNs)))
	}
	for i, text := range s.ClocksSay {
		w.say("clocks", i, text)
	}
	w.say("verdict", 0, string(s.Verdict))
	for i, r := range s.Reasons {
		w.say("", i, r)
	}
	if s.Result != "" {
		w.say("result", 0, s.Result)
		w.say("files", 0, fmt.Sprintf("%d other files, named after PRE", len(s.Files)))
	}
	return w.failed
}

// sentenceColumn is where sentences begin, behind their names.
const sentenceColumn = 9

// sentences writes sentences, each in lines of the terminal's width, or in one if the output is no terminal.
type sentences struct {
	out    io.Writer
	style  terminal.Style
	failed error // the first
}

// say writes a sentence. Only the first of a name has it.
func (w *sentences) say(name string, at int, text string) {
	if w.failed != nil {
		return
	}
	if at > 0 {
		name = ""
	}
	if w.style.Terminal {
		text = terminal.Wrap(text, sentenceColumn, sentenceColumn, w.style.Columns)
	}
	_, w.failed = io.WriteString(w.out, fmt.Sprintf("%-*s%s\n", sentenceColumn, name, terminal.PlainLines(text)))
}
