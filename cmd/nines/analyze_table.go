package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"nines.dev/nines/analyze"
	"nines.dev/nines/result"
)

// writeAnalysis writes a summary for people.
func writeAnalysis(out io.Writer, s analyze.Summary) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(t, format+"\n", args...) } // Flush has the error
	for _, c := range []struct {
		name string
		of   analyze.CaptureSummary
	}{{"pre", s.Pre}, {"post", s.Post}} {
		line("%s\t%s: %s in %.3f s, %.0f a second", c.name, c.of.Path, count(int(c.of.Packets), "packet"), float64(c.of.LastNs-c.of.FirstNs)/1e9, c.of.PPS)
	}
	n := s.Counts
	line("pairs\t%d by the key %s", n.Pairs, s.Key)
	line("lost\t%d by key (%.4g %%), %d by counts", n.Lost, 100*s.LossRatio, s.LostByCounts)
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
			line("%s\t%d %s", other.name, other.count, other.what)
		}
	}
	heads, values := "latency ns\tmin\tmean", fmt.Sprintf("\t%d\t%.0f", *s.Latency.Min, *s.Latency.Mean)
	for _, p := range result.NamedPercentiles() {
		value := "–"
		if v := p.Of(s.Latency); v != nil {
			value = fmt.Sprint(*v)
		}
		heads += "\t" + p.Name
		values += "\t" + value
	}
	if err := t.Flush(); err != nil {
		return err
	}
	line("%s\tmax", heads)
	line("%s\t%d", values, *s.Latency.Max)
	if err := t.Flush(); err != nil {
		return err
	}
	for i, text := range s.ClocksSay {
		name := "clocks"
		if i > 0 {
			name = ""
		}
		line("%s\t%s", name, text)
	}
	line("verdict\t%s", s.Verdict)
	for _, r := range s.Reasons {
		line("\t%s", r)
	}
	if s.Result != "" {
		line("result\t%s", s.Result)
		line("files\t%d beside it, named after PRE", len(s.Files))
	}
	return t.Flush()
}
