package figure

import (
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
)

// latency plots a percentile over the offered rate, or over the frame size if only that varies
// (002, figures 8 and 11).
func (s *selection) latency() (*Figure, error) {
	of := report.LatencyFigure(s.Percentile)
	if !slices.Contains(percentiles(), s.Percentile) {
		return nil, exit.Wrongf("unknown percentile %q; allowed: %s", s.Percentile, strings.Join(percentiles(), ", "))
	}
	name := strings.ReplaceAll(s.Percentile, "_", ".") + " latency (µs)"
	if s.Percentile == "max" {
		name = "maximum latency (µs)"
	}
	f := &Figure{}
	overRate, overSize := report.OverRate(s.trials, of), report.OverSize(s.trials, of)
	kind := result.FigureLoad
	switch {
	case overSeveral(overSize) && !overSeveral(overRate):
		s.add(f, overSize)
		kind = ""
	case overSeveral(overRate):
		s.add(f, overRate)
	default:
		return nil, errNothing
	}
	if s.Percentile == "p50" {
		f.overlay(s.publishedIn(kind, f, 1))
	}
	divide := 1000.0
	if low, _, _ := f.extent(); low.Y >= 1e6 {
		name, divide = strings.Replace(name, "µs", "ms", 1), 1e6
	}
	for i := range f.Series {
		one := &f.Series[i]
		for j := range one.Points {
			one.Points[j].Y /= divide
		}
		for j := range one.Ranges {
			one.Ranges[j].Low, one.Ranges[j].High = one.Ranges[j].Low/divide, one.Ranges[j].High/divide
		}
	}
	if kind == "" {
		f.sizes()
	} else {
		f.offeredAxis()
	}
	low, high, _ := f.extent()
	if s.MaxLatencyNs > 0 {
		high.Y = float64(s.MaxLatencyNs) / divide
	}
	f.Y = logAxis(name, max(low.Y, 0.001), high.Y)
	return f, nil
}

func percentiles() []string {
	list := []string{"min", "mean"}
	for _, p := range result.NamedPercentiles() {
		list = append(list, p.Name)
	}
	return append(list, "max")
}
