package report

import (
	"math"
	"strings"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// writePublishedLatency writes published latency percentiles below our own, in the same columns;
// nothing if the result has none.
func writePublishedLatency(out *strings.Builder, s terminal.Style, r *result.Result) {
	var published []PublishedSeries
	for _, p := range r.Published {
		if p.Figure == result.FigureLatency {
			published = append(published, PublishedSeries{Published: p})
		}
	}
	if len(published) == 0 {
		return
	}
	out.WriteString("\n" + s.Paint(terminal.Bold, "Latency by percentile, published and here") + "\n\n")
	t := &terminal.Table{}
	t.Words("whose")
	t.Words("of")
	named := result.NamedPercentiles()
	for _, p := range named {
		t.Numbers(strings.ReplaceAll(p.Name, "_", "."), "µs")
	}
	for _, g := range Groups(r.Shown()) {
		row := []any{"here", terminal.Plain(Describe(g.Variables))}
		for _, p := range named {
			row = append(row, figureCell(g.Counted(), LatencyFigure(p.Name)))
		}
		t.Row(row...)
	}
	for _, series := range published {
		row := []any{"published", terminal.Plain(series.Series)}
		for _, p := range named {
			row = append(row, publishedAt(series.Points, p))
		}
		t.Row(row...)
	}
	_ = t.Write(out, s) // cannot fail
	for _, source := range sourcesOf(published) {
		out.WriteString(s.Paint(terminal.Dim, terminal.Wrap("published, not measured here: "+terminal.Plain(source), 0, 0, s.Columns)) + "\n")
	}
}

// publishedAt is the point at a percentile, which may have been rounded: 1/(1−p) must agree within
// 5 %.
func publishedAt(points [][2]float64, p result.Percentile) string {
	for _, point := range points {
		if math.Abs(point[0]/float64(p.Samples)-1) < 0.05 {
			return terminal.Significant(point[1] / 1000)
		}
	}
	return terminal.None
}
