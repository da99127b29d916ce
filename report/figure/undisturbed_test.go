package figure

import (
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/result"
)

// The curve without interruptions is drawn beside the measured one, with the share of the packets; and where it is not
// known, a note says so.
func TestUndisturbedBesideTheMeasured(t *testing.T) {
	known := record(map[string]any{"links.*.kind": "veth"}, 1, 1e4, 4000, 0)
	known.Trial.Undisturbed = &result.Undisturbed{Share: 0.8612, Assumed: []string{}, Percentiles: []result.UndisturbedPercentile{}}
	known.Histograms.Undisturbed = result.NewHistogram()
	for range 20_000 {
		known.Histograms.Undisturbed.Record(3000)
	}
	unknown := record(map[string]any{"links.*.kind": "bridge"}, 1, 1e4, 4000, 0)
	in := made{name: "two", records: []result.Record{known, unknown}}.open(t)
	f := mustMake(t, Options{Kind: HDR, Undisturbed: true}, in)
	labels := []string{}
	for _, s := range f.Series {
		labels = append(labels, s.Label)
	}
	if want := []string{"veth", "bridge", "veth, undisturbed"}; !slices.Equal(labels, want) {
		t.Errorf("curves %q, want %q", labels, want)
	}
	if last := f.Series[len(f.Series)-1]; last.Points[0].Y < 2.99 || last.Points[len(last.Points)-1].Y > 3.01 {
		t.Errorf("%+v", last.Points)
	}
	notes := strings.Join(f.Notes, "\n")
	for _, want := range []string{"veth, undisturbed: without the host's interruptions, from 86 % of the packets", "bridge: what the latencies would be without"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note %q in:\n%s", want, notes)
		}
	}
	if plain := mustMake(t, Options{Kind: HDR}, in); len(plain.Series) != 2 {
		t.Errorf("%d curves without the option", len(plain.Series))
	}
}
