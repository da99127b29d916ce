package main

import (
	"fmt"
	"io"

	"nines.dev/nines/analyze"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// latencies has a row of the packets that the page has too, and one of all arrivals if there are
// more.
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
	if s.AllArrivals == nil {
		row(terminal.Count(int(s.Latency.Count), "packet"), s.Latency)
		return t
	}
	row(terminal.Count(int(s.Latency.Count), "first arrival"), s.Latency)
	row(terminal.Count(int(s.AllArrivals.Count), "arrival"), *s.AllArrivals)
	return t
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
	n, of := s.Counts, ""
	if s.TrimNs > 0 {
		of = ", with what the trim leaves out"
	}
	line("pairs", "%d by the key %s%s", n.Pairs, s.Key, of)
	line("lost", "%d by key (%.4g %%), %d by counts%s", n.Lost, 100*s.LossRatio, s.LostByCounts, of)
	for _, other := range []struct {
		name, what string
		count      uint64
	}{
		{"duplicates", "arrived more than once", n.Again},
		{"ambiguous", "of PRE have an ambiguous key", n.PreAmbiguous},
		{"unknown", "of POST are not in PRE", n.PostUnknown},
		{"early", "of POST are not later than in PRE", n.Early},
		{"late", "of POST are 5 s late or more", n.Late},
		{"without key", "", n.PreUnkeyed + n.PostUnkeyed},
	} {
		if other.count > 0 {
			line(other.name, "%d %s", other.count, other.what)
		}
	}
	if err := t.Write(out, terminal.Style{}); err != nil {
		return err
	}
	if err := latencies(s).Write(out, terminal.Style{}); err != nil {
		return err
	}
	t = &terminal.Table{}
	for i, text := range s.ClocksSay {
		name := "clocks"
		if i > 0 {
			name = ""
		}
		t.Row(name, text)
	}
	t.Row("verdict", s.Verdict)
	for _, r := range s.Reasons {
		t.Row("", r)
	}
	if s.Result != "" {
		t.Row("result", s.Result)
		line("files", "%d other files, named after PRE", len(s.Files))
	}
	return t.Write(out, terminal.Style{})
}
