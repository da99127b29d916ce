package figure

import (
	"testing"

	"nines.dev/nines/result"
)

// TestTheSidesOfADuetAreApart: a curve of both together would be of neither.
func TestTheSidesOfADuetAreApart(t *testing.T) {
	r := record(map[string]any{}, 1, 1000, 4000, 0)
	r.Trial.Duet = &result.Duet{Sides: []result.DuetSide{{Name: "a", Label: "veth", Settings: "links.*.kind=veth"}, {Name: "b", Label: "bridge", Settings: "links.*.kind=bridge"}},
		Beside: []string{}, Comparisons: []result.DuetComparison{}}
	for i, name := range []string{"a", "b"} {
		latency := result.NewHistogram()
		for range 10_000 {
			latency.Record(int64(4000 * (i + 1)))
		}
		r.Streams = append(r.Streams, result.StreamRecord{Stream: result.Stream{Name: name, OfferedPPS: 500, TxPackets: 10_000, RxPackets: 10_000}, Latency: latency})
	}
	for i := range r.Outliers {
		r.Outliers[i].Stream = uint16(1 + i%2)
	}
	in := made{name: "duet", records: []result.Record{r}}.open(t)
	f := mustMake(t, Options{Kind: HDR}, in)
	if got := labels(f); got != "veth; bridge; " || f.Series[0].at(10) != 4 || f.Series[1].at(10) > 8.1 || f.Series[1].at(10) < 7.9 {
		t.Errorf("%s %v", got, f.Series)
	}
	f = mustMake(t, Options{Kind: Worst}, in)
	if got := labels(f); got != "veth; bridge; " || len(f.Series[0].Points)+len(f.Series[1].Points) != len(r.Outliers) || len(f.Series[0].Points) != len(f.Series[1].Points) {
		t.Errorf("%s", got)
	}
}
