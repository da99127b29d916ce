package export

import (
	"errors"
	"io"

	"nines.dev/nines/result"
)

// comparisonColumns follow the trial and its variables. A value is in nanoseconds, and of a loss a fraction.
var comparisonColumns = []struct {
	name string
	of   func(*result.Duet, result.DuetComparison) any
}{
	{"side_a", func(d *result.Duet, _ result.DuetComparison) any { return d.Sides[0].Label }},
	{"side_b", func(d *result.Duet, _ result.DuetComparison) any { return d.Sides[1].Label }},
	{"quantity", func(_ *result.Duet, c result.DuetComparison) any { return c.Quantity }},
	{"asked", func(_ *result.Duet, c result.DuetComparison) any { return c.Asked }},
	{"decision", func(_ *result.Duet, c result.DuetComparison) any { return c.Decision }},
	{"a", func(_ *result.Duet, c result.DuetComparison) any { return known(c.A) }},
	{"b", func(_ *result.Duet, c result.DuetComparison) any { return known(c.B) }},
	{"difference", func(_ *result.Duet, c result.DuetComparison) any { return bounds(c.Difference).Value }},
	{"difference_low", func(_ *result.Duet, c result.DuetComparison) any { return bounds(c.Difference).Low }},
	{"difference_high", func(_ *result.Duet, c result.DuetComparison) any { return bounds(c.Difference).High }},
	{"ratio", func(_ *result.Duet, c result.DuetComparison) any { return bounds(c.Ratio).Value }},
	{"ratio_low", func(_ *result.Duet, c result.DuetComparison) any { return bounds(c.Ratio).Low }},
	{"ratio_high", func(_ *result.Duet, c result.DuetComparison) any { return bounds(c.Ratio).High }},
	{"traffic_ns", func(d *result.Duet, _ result.DuetComparison) any { return d.TrafficNs }},
	{"why", func(_ *result.Duet, c result.DuetComparison) any { return c.Why }},
	{"remains", func(_ *result.Duet, c result.DuetComparison) any { return c.Remains }},
}

// WriteComparisons writes a row for each quantity that a duet compared, as CSV.
func WriteComparisons(w io.Writer, trials []result.Trial) error {
	columns := result.WithVariables(trials, []result.Column{{Name: "id", Of: func(r *result.Row) any { return r.Trial.ID }}})
	own := len(columns)
	for _, c := range comparisonColumns {
		columns = append(columns, result.Column{Name: c.name})
	}
	var rows [][]any
	for i := range trials {
		d := trials[i].Duet
		if d == nil || len(d.Sides) != 2 {
			continue
		}
		for _, one := range d.Comparisons {
			var values []any
			for _, c := range columns[:own] {
				values = append(values, c.Of(&result.Row{Trial: &trials[i]}))
			}
			for _, c := range comparisonColumns {
				values = append(values, c.of(d, one))
			}
			rows = append(rows, values)
		}
	}
	if len(rows) == 0 {
		return errors.New("no trial is a duet that compared something: nines duet measures two variants side by side")
	}
	return result.WriteCSV(w, columns, rows)
}

// known is a number, or nil.
func known(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

// bounds are those of an interval, each nil where nothing is known.
func bounds(b *result.Bounded) struct{ Value, Low, High any } {
	if b == nil {
		return struct{ Value, Low, High any }{}
	}
	return struct{ Value, Low, High any }{b.Value, b.Low, b.High}
}
