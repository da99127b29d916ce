package main

import (
	"fmt"
	"io"

	"nines.dev/nines/analyze"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

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
	n := s.Counts
	line("pairs", "%d by the key %s", n.Pairs, s.Key)
	line("lost", "%d by key (%.4g %%), %d by counts", n.Lost, 100*s.LossRatio, s.LostByCounts)
	for _, other := range []struct {
		name, what string
		count      uint64
	}{
		{"duplicates", "arrived again", n.Again},
		{"ambiguous", "of PRE have a key that others have too", n.PreAmbiguous},
		{"unknown", "of POST are not in PRE", n.PostUnknown},
		{"early", "of POST are not later than in PRE", n.Early},
		{"late", "of POST are 5 s late or more", n.Late},
		{"without key", "", n.PreUnkeyed + n.PostUnkeyed},
	} {
		if other.count > 0 {
			line(other.name, "%d %s", other.count, other.what)
		}
	}
	heads, values := []any{"latency ns", "min", "mean"}, []any{"", *s.Latency.Min, fmt.Sprintf("%.0f", *s.Latency.Mean)}
	for _, p := range result.NamedPercentiles() {
		value := "–"
		if v := p.Of(s.Latency); v != nil {
			value = fmt.Sprint(*v)
		}
		heads, values = append(heads, p.Name), append(values, value)
	}
	if err := t.Write(out, terminal.Style{}); err != nil {
		return err
	}
	t = &terminal.Table{}
	t.Row(append(heads, "max")...)
	t.Row(append(values, *s.Latency.Max)...)
	if err := t.Write(out, terminal.Style{}); err != nil {
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
		line("files", "%d beside it, named after PRE", len(s.Files))
	}
	return t.Write(out, terminal.Style{})
}
