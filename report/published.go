package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// publishedIn returns the published curves of a figure, with the matching series.
func (c *chooser) publishedIn(f Chosen) []PublishedSeries {
	list := []PublishedSeries{}
	var words []map[string]bool
	for _, p := range c.published {
		if p.Figure != f.Kind {
			continue
		}
		if words == nil {
			words = wordsOf(f.Series)
		}
		list = append(list, PublishedSeries{Published: p, Match: match(p.Series, words)})
	}
	return list
}

// wordsOf has the words of each series' values.
func wordsOf(series []Series) []map[string]bool {
	all := make([]map[string]bool, len(series))
	for i, s := range series {
		all[i] = map[string]bool{}
		for _, value := range s.Variables {
			for _, word := range strings.Fields(strings.ToLower(result.FormatVariable(value))) {
				all[i][word] = true
			}
		}
	}
	return all
}

// match finds the series that a published curve's name means: the one with all of the name's words
// among its own, and of several the one with the fewest other values. Text in parentheses
// explains the name and does not count: "udp single (send and recv)" means the series with the
// backend udp and single packets. It is -1 if no series or no single one matches.
func match(name string, series []map[string]bool) int {
	if before, _, ok := strings.Cut(name, "("); ok {
		name = before
	}
	words := strings.Fields(strings.ToLower(name))
	found, fewest := -1, math.MaxInt
	for i, values := range series {
		all := len(words) > 0
		for _, word := range words {
			all = all && values[word]
		}
		switch others := len(values) - len(words); {
		case !all:
		case others < fewest:
			found, fewest = i, others
		case others == fewest:
			found = -1 // ambiguous
		}
	}
	return found
}

// WritePublished writes published points next to our measurements, for a terminal; nothing if the
// result has none.
func WritePublished(w io.Writer, r *result.Result) error {
	if len(r.Published) == 0 {
		return nil
	}
	shown := r.Shown()
	trials := make([]Evidence, 0, len(shown))
	read := func(t result.Trial, folder result.Folder) (Evidence, error) {
		details, err := folder.Details()
		if errors.Is(err, fs.ErrNotExist) {
			return Evidence{Trial: t}, nil
		}
		return Evidence{Trial: t, Details: &details}, err
	}
	for _, t := range shown {
		e, err := read(t, r.TrialFolder(t.ID))
		if err != nil {
			return err
		}
		trials = append(trials, e)
	}
	var maxima []Evidence
	for _, m := range r.Maxima {
		e, err := read(m, r.MaximumFolder(m.ID))
		if err != nil {
			return err
		}
		maxima = append(maxima, e)
	}
	s := terminal.StyleOf(w)
	var out strings.Builder
	for _, f := range ChooseFigures(trials, maxima, r.Published) {
		if len(f.Published) > 0 {
			out.WriteString("\n" + s.Paint(terminal.Bold, publishedTitles[f.Kind]) + "\n\n")
			_ = publishedTable(f).Write(&out, s) // cannot fail
			for _, source := range sourcesOf(f.Published) {
				out.WriteString(s.Paint(terminal.Dim, terminal.Wrap("published, not measured here: "+terminal.Plain(source), 0, 0, s.Columns)) + "\n")
			}
		}
	}
	writePublishedLatency(&out, s, r)
	_, err := io.WriteString(w, out.String())
	return err
}

var publishedTitles = map[string]string{
	result.FigureMaximum: "Maximum throughput, published and here",
	result.FigureSize:    "Maximum throughput by frame size, published and here",
	result.FigureRate:    "Received packets a second, published and here",
	result.FigureLoad:    "Median latency, published and here",
}

// publishedTable has a line for each published point, next to our nearest one.
func publishedTable(f Chosen) *terminal.Table {
	t := &terminal.Table{}
	t.Words("published as")
	axis, unit, scale := "", "pps", 1.0
	switch f.Kind {
	case result.FigureSize:
		axis = "bytes"
	case result.FigureRate:
		axis = "sent"
	case result.FigureLoad:
		axis, unit, scale = "offered", "µs", 1e-3
	}
	axisUnit := map[string]string{"sent": "pps", "offered": "pps"}[axis]
	if axis != "" {
		t.Numbers(axis, axisUnit)
	}
	t.Numbers("published", unit)
	t.Words("here")
	if axis != "" {
		t.Numbers(axis, axisUnit)
	}
	t.Numbers("measured", unit)
	t.Numbers("ratio", "×")
	for _, p := range f.Published {
		for _, point := range p.Points {
			row := []any{terminal.Plain(p.Series)}
			add := func(text string) { row = append(row, text) }
			if axis != "" {
				add(terminal.Grouped(point[0]))
			}
			add(figureText(point[1]*scale, unit))
			if p.Match < 0 {
				add(terminal.None)
				if axis != "" {
					add(terminal.None)
				}
				add(terminal.None)
				add(terminal.None)
			} else {
				ours := f.Series[p.Match]
				near := ours.nearest(point[0])
				add(terminal.Plain(seriesLabel(f, ours)))
				if axis != "" {
					add(terminal.Grouped(near.X))
				}
				add(figureText(near.Y*scale, unit))
				if point[1] > 0 {
					add(terminal.Significant(near.Y / point[1]))
				} else {
					add(terminal.None)
				}
			}
			t.Row(row...)
		}
	}
	return t
}

func figureText(value float64, unit string) string {
	if unit == "pps" {
		return terminal.Grouped(value)
	}
	return terminal.Significant(value)
}

// seriesLabel names a series by its values: "veth, udp, single".
func seriesLabel(f Chosen, s Series) string {
	var parts []string
	for _, name := range f.Variables {
		if value, ok := s.Variables[name]; ok {
			parts = append(parts, result.FormatVariable(value))
		}
	}
	if len(parts) == 0 {
		return "all trials"
	}
	return strings.Join(parts, ", ")
}

// sourcesOf lists each source once.
func sourcesOf(published []PublishedSeries) []string {
	var sources []string
	seen := map[string]bool{}
	for _, p := range published {
		if !seen[p.Source] {
			seen[p.Source] = true
			sources = append(sources, p.Source)
		}
	}
	return sources
}

// writeSkipped says which combinations were not measured, by reason.
func writeSkipped(out *strings.Builder, s terminal.Style, skipped []result.Skipped) {
	var reasons []string
	by := map[string][]result.Skipped{}
	for _, one := range skipped {
		if by[one.Reason] == nil {
			reasons = append(reasons, one.Reason)
		}
		by[one.Reason] = append(by[one.Reason], one)
	}
	for i, reason := range reasons {
		if i == 0 {
			out.WriteString("\n")
		}
		of := by[reason]
		where := Describe(of[0].Variables)
		if len(of) > 1 {
			where = fmt.Sprintf("%s, such as %s", terminal.Count(len(of), "combination"), where)
		}
		const head = "not measured"
		out.WriteString(s.Paint(terminal.Yellow, head) + "  " + terminal.Wrap(terminal.Plain(where+": "+reason), len(head)+2, len(head)+2, s.Columns) + "\n")
	}
}
