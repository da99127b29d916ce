package report

import (
	"math"
	"strings"

	"nines.dev/nines/result"
)

// writePublishedLatency writes published percentiles of latency below those measured
// here, in the same columns; nothing where the result has no such points.
func writePublishedLatency(out *strings.Builder, s style, r *result.Result) {
	var published []PublishedSeries
	for _, p := range r.Published {
		if p.Figure == result.FigureLatency {
			published = append(published, PublishedSeries{Published: p})
		}
	}
	if len(published) == 0 {
		return
	}
	out.WriteString("\n" + s.paint(bold, "Latency by percentile, published and here") + "\n\n")
	t := &table{}
	t.wordColumn("whose")
	t.wordColumn("of")
	named := result.NamedPercentiles()
	for _, p := range named {
		t.column(strings.ReplaceAll(p.Name, "_", "."), "µs")
	}
	for _, g := range Groups(r.Shown()) {
		row := []cell{{text: "here"}, {text: plain(Describe(g.Variables))}}
		for _, p := range named {
			row = append(row, figureCell(g, LatencyFigure(p.Name)))
		}
		t.rows = append(t.rows, row)
	}
	for _, series := range published {
		row := []cell{{text: "published"}, {text: plain(series.Series)}}
		for _, p := range named {
			row = append(row, cell{text: publishedAt(series.Points, p)})
		}
		t.rows = append(t.rows, row)
	}
	t.write(out, s)
	for _, source := range sourcesOf(published) {
		out.WriteString(s.paint(dim, wrap("published, not measured here: "+plain(source), 0, s.columns)) + "\n")
	}
}

// publishedAt is the point at a percentile, which others may have rounded: by 1/(1−p)
// it is within 5 %.
func publishedAt(points [][2]float64, p result.Percentile) string {
	for _, point := range points {
		if math.Abs(point[0]/float64(p.Samples)-1) < 0.05 {
			return significant(point[1] / 1000)
		}
	}
	return none
}
