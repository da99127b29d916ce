package report

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/result"
	"nines.dev/nines/test/golden"
)

// capacity is a simulated link: its maximum rate with the shortest frames, and its idle median
// latency.
var capacity = map[string]struct{ pps, latencyNs float64 }{
	"bridge": {420_000, 22_000}, "switch": {6_500_000, 2_800}, "testpmd": {6_100_000, 3_100}, "memif": {11_000_000, 1_900},
}

// carried is the rate at which a simulated link carries frames of a size.
func carried(kind string, bytes float64) float64 { return capacity[kind].pps / (1 + bytes/2000) }

// comparison makes a result like the inter-container experiments: one record per combination, of a
// few packets that represent many.
type comparison struct {
	name  string
	kinds []string
	sizes []float64
	// rates in packets a second, or fractions of the maximum.
	rates, fractions []float64
	repeats          int
	published        []result.Published
	skipped          []result.Skipped
}

func (c comparison) write(t testing.TB, root string) string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w, err := result.Create(root, c.name, time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC))
	must(err)
	if c.published != nil {
		must(w.WritePublished(c.published))
	}
	for _, s := range c.skipped {
		must(w.Skip(s))
	}
	for repeat := 1; repeat <= max(c.repeats, 1); repeat++ {
		for _, kind := range c.kinds {
			for _, size := range c.sizes {
				variables := func() map[string]any {
					v := map[string]any{"links.*.kind": kind}
					if len(c.sizes) > 1 {
						v[frameBytesKey] = size
					}
					return v
				}
				for _, rate := range c.rates {
					v := variables()
					if len(c.rates) > 1 {
						v[ratePPSKey] = rate
					}
					_, err := w.AddTrial(simulated(kind, size, rate, repeat, v))
					must(err)
				}
				if len(c.fractions) == 0 {
					continue
				}
				most := simulated(kind, size, 0, 1, variables())
				if repeat == 1 {
					_, err := w.AddMaximum(most)
					must(err)
				}
				for _, fraction := range c.fractions {
					v := variables()
					v[rateOfMaximumKey] = fraction
					r := simulated(kind, size, fraction*most.Details.ReceivedPPS, repeat, v)
					r.Details.Maximum = &result.Share{ID: "0001", ReceivedPPS: most.Details.ReceivedPPS, Fraction: fraction}
					_, err := w.AddTrial(r)
					must(err)
				}
			}
		}
	}
	must(w.Close())
	return w.Dir()
}

// simulated is a trial of 20,000 packets that represent a second at the rate; rate 0 sends twice
// what the link carries.
func simulated(kind string, size, rate float64, repeat int, variables map[string]any) result.Record {
	const packets = 20_000
	most := carried(kind, size) * (1 + 0.01*float64(repeat-1))
	offered := rate
	if rate == 0 {
		offered = 2 * most
	}
	got := packets
	if offered > most {
		got = int(packets * most / offered)
	}
	h := result.Histograms{Latency: result.NewHistogram(), FromTx: result.NewHistogram(), SendLag: result.NewHistogram()}
	busy := min(offered/most, 0.98)
	for i := range got {
		tail := math.Pow(float64(packets)/float64(packets-i), 0.25)
		ns := int64(capacity[kind].latencyNs * (1 + size/1000) * tail / (1 - busy*busy))
		h.Latency.Record(ns)
		h.FromTx.Record(ns)
		h.SendLag.Record(30)
	}
	r := result.Record{Histograms: h, Trial: result.Trial{Variables: variables, Repeat: repeat, OfferedPPS: offered,
		TxPackets: packets, RxPackets: uint64(got), LostPackets: uint64(packets - got), Verdict: result.Clean}}
	r.Details = result.Details{Role: "loop", IntendedPPS: rate, FrameBytes: int(size), ReceivedPPS: offered * float64(got) / packets, DurationNs: 1e9}
	return r
}

var publishedTable1 = []result.Published{
	{Source: "Ara et al., table 1", Figure: result.FigureMaximum, Series: "bridge (raw sockets)", Points: [][2]float64{{0, 594_000}}},
	{Source: "Ara et al., table 1", Figure: result.FigureMaximum, Series: "tin cans", Points: [][2]float64{{0, 1_000}}},
}

// read opens a result as the page does.
func read(t *testing.T, dir string) pageData {
	t.Helper()
	r, err := result.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := newPageData(r, nil)
	if len(p.Problems) > 0 {
		t.Errorf("problems: %q", p.Problems)
	}
	return p
}

// shape lists figures and their series: "rate: bridge 3".
func shape(figures []Chosen) []string {
	out := []string{}
	for _, f := range figures {
		name := f.Kind
		if f.Percentile != "" {
			name += " " + f.Percentile
		}
		var series []string
		for _, s := range f.Series {
			series = append(series, fmt.Sprintf("%s %d", seriesLabel(f, s), len(s.Points)))
		}
		out = append(out, name+": "+strings.Join(series, ", "))
	}
	return out
}

func TestFiguresFollowWhatVaries(t *testing.T) {
	// After losses too few packets may be left for p99.99.
	loads := func(series, tail string) []string {
		return []string{"load p50: " + series, "load p99: " + series, "load p99_99: " + tail}
	}
	tests := map[string]struct {
		of   comparison
		want []string
	}{
		"rate 0 alone": {comparison{kinds: []string{"bridge", "memif"}, sizes: []float64{64}, rates: []float64{0}},
			[]string{"maximum: bridge 1, memif 1"}},
		"sizes at rate 0": {comparison{kinds: []string{"bridge"}, sizes: []float64{64, 512, 1500}, rates: []float64{0}},
			[]string{"size: bridge 3"}},
		"rates": {comparison{kinds: []string{"bridge", "switch"}, sizes: []float64{64}, rates: []float64{1e5, 1e6, 8e6}},
			append([]string{"rate: bridge 3, switch 3"}, loads("bridge 3, switch 3", "bridge 1, switch 3")...)},
		"rates and sizes": {comparison{kinds: []string{"switch"}, sizes: []float64{64, 512}, rates: []float64{1e6, 8e6}},
			append([]string{"size: switch 2", "rate: switch, 64 2, switch, 512 2"}, loads("switch, 64 2, switch, 512 2", "switch, 64 2, switch, 512 2")...)},
		"parts of the maximum": {comparison{kinds: []string{"switch", "memif"}, sizes: []float64{64}, fractions: []float64{0.1, 0.5, 0.9}},
			append([]string{"maximum: switch 1, memif 1"}, loads("switch 3, memif 3", "switch 3, memif 3")...)},
		"one rate": {comparison{kinds: []string{"switch", "memif"}, sizes: []float64{64}, rates: []float64{1e5}}, []string{}},
		"one rate, with what others found at theirs": {comparison{kinds: []string{"switch"}, sizes: []float64{64}, rates: []float64{1e5}, published: []result.Published{
			{Source: "s", Figure: result.FigureLoad, Series: "a", Points: [][2]float64{{1e7, 8e5}}}}}, []string{"load p50: switch 1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.of.name = "figures"
			if diff := cmp.Diff(test.want, shape(read(t, test.of.write(t, t.TempDir())).Figures)); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPointsAreMediansOfRepeats(t *testing.T) {
	p := read(t, comparison{name: "points", kinds: []string{"switch"}, sizes: []float64{64}, rates: []float64{1e6, 2e7}, repeats: 3}.write(t, t.TempDir()))
	points := p.Figures[0].Series[0].Points
	first, second, third := carried("switch", 64), carried("switch", 64)*1.01, carried("switch", 64)*1.02
	if points[0].X != 1e6 || points[0].Y != 1e6 || points[0].Low != 1e6 || points[0].High != 1e6 {
		t.Errorf("below the maximum all is received, but %+v", points[0])
	}
	near := func(got, want float64) bool { return math.Abs(got/want-1) < 1e-3 }
	if last := points[1]; last.X != 2e7 || !near(last.Low, first) || !near(last.Y, second) || !near(last.High, third) {
		t.Errorf("above the maximum: %+v, want %v, %v, %v", last, first, second, third)
	}
	size := read(t, comparison{name: "size", kinds: []string{"switch"}, sizes: []float64{64, 512}, rates: []float64{1e6, 2e7}}.write(t, t.TempDir())).Figures[0]
	if got := size.Series[0].Points; got[0].X != 64 || !near(got[0].Y, carried("switch", 64)) || got[1].X != 512 || !near(got[1].Y, carried("switch", 512)) {
		t.Errorf("by size the most that was received at any rate: %+v", got)
	}
}

// TestInvalidTrialsAreMarkedByLoad: they have a point, which says what it is (TestFiguresMarkInvalidTrials).
func TestInvalidTrialsAreMarkedByLoad(t *testing.T) {
	trial := func(id string, rate float64, verdict result.Verdict) Evidence {
		r := simulated("switch", 64, rate, 1, map[string]any{ratePPSKey: rate})
		r.Trial.ID, r.Trial.Verdict, r.Trial.Latency = id, verdict, r.Histograms.Latency.Percentiles()
		return Evidence{Trial: r.Trial, Details: &r.Details}
	}
	figures := ChooseFigures([]Evidence{trial("1", 1e5, result.Clean), trial("2", 1e6, result.Noisy), trial("3", 2e6, result.Invalid)}, nil, nil)
	if diff := cmp.Diff([]string{"rate: all trials 3", "load p50: all trials 3", "load p99: all trials 3", "load p99_99: all trials 3"}, shape(figures)); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

func TestPublishedNamesMeanSeries(t *testing.T) {
	series := []Series{
		{Variables: map[string]any{"k": "veth", "b": "udp", "i": "single"}},
		{Variables: map[string]any{"k": "veth", "b": "udp", "i": "batch"}},
		{Variables: map[string]any{"k": "ovs-dpdk", "b": "dpdk", "i": "batch"}},
		{Variables: map[string]any{"path": "container"}},
		{Variables: map[string]any{"path": "container behind ovs-dpdk"}},
	}
	for name, want := range map[string]int{
		"udp single": 0, "UDP batch (sendmmsg)": 1, "batch ovs-dpdk": 2, "udp": -1, "container": 3, "Container behind ovs-dpdk": 4, "behind": 4, "ovs-dpdk": -1, "ovs": -1, "batch veth": 1, "": -1, "(udp single)": -1, "udp single 64": -1,
	} {
		if got := match(name, wordsOf(series)); got != want {
			t.Errorf("match(%q) = %d, want %d", name, got, want)
		}
	}
}

func TestPublishedInTheTerminal(t *testing.T) {
	tests := map[string]comparison{
		"maximum": {kinds: []string{"bridge", "switch"}, sizes: []float64{64}, rates: []float64{0}, published: publishedTable1},
		"load": {kinds: []string{"switch", "bridge"}, sizes: []float64{64}, fractions: []float64{0.1, 0.9}, published: []result.Published{
			{Source: "a thesis, 4.1", Figure: result.FigureLoad, Series: "switch", Points: [][2]float64{{11e6, 800_000}}},
			{Source: "a thesis, 4.1", Figure: result.FigureLoad, Series: "bridge", Points: [][2]float64{{10e6, 8_700_000}}}}},
		"size": {kinds: []string{"testpmd"}, sizes: []float64{64, 1500}, rates: []float64{0}, published: []result.Published{
			{Source: "a paper", Figure: result.FigureSize, Series: "testpmd", Points: [][2]float64{{64, 9e6}, {1400, 7e5}}}}},
		"latency": {kinds: []string{"memif", "veth"}, sizes: []float64{64}, rates: []float64{1.5e6}, published: []result.Published{
			{Source: "a paper's files", Figure: result.FigureLatency, Series: "a container, cgroup v1", Points: [][2]float64{{2, 5775}, {100, 7157}, {1000, 29562}, {99000, 84487}, {67e6, 136636}}}}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			c.name = name
			r, err := result.Open(c.write(t, t.TempDir()))
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := WritePublished(&out, r); err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, filepath.Join("testdata", "published_"+name+".txt"), out.String())
		})
	}
	r, err := result.Open(comparison{name: "none", kinds: []string{"bridge"}, sizes: []float64{64}, rates: []float64{0}}.write(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WritePublished(&out, r); err != nil || out.Len() > 0 {
		t.Errorf("without published points it wrote %q (%v)", out.String(), err)
	}
}

func TestSkippedAreToldByReason(t *testing.T) {
	summary := result.Summary{Name: "s", Skipped: []result.Skipped{
		{Variables: map[string]any{"links.*.kind": "vpp"}, Reason: "vpp is not installed"},
		{Variables: map[string]any{"links.*.kind": "vpp", ratePPSKey: 2.0}, Reason: "vpp is not installed"},
		{Variables: map[string]any{"links.*.kind": "snabb"}, Reason: "snabb is not installed"},
	}}
	var out bytes.Buffer
	if err := WriteTable(&out, summary, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"not measured  2 combinations, such as kind=vpp: vpp is not installed\n", "not measured  kind=snabb: snabb is not installed\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q lacks %q", out.String(), want)
		}
	}
}

// TestOnlyTrafficHasAMaximum: neither a pair of captures nor the gaps of a CPU were sent as fast as it goes.
func TestOnlyTrafficHasAMaximum(t *testing.T) {
	trial := result.Trial{ID: "0001", OfferedPPS: 1000, TxPackets: 1000, RxPackets: 1000, Verdict: result.Clean}
	for role, want := range map[string]int{"loop": 1, result.CaptureRole: 0, result.JitterRole: 0, result.ProgramRole: 0} {
		figures := ChooseFigures([]Evidence{{Trial: trial, Details: &result.Details{Role: role, ReceivedPPS: 1000, DurationNs: 1e9}}}, nil, nil)
		if len(figures) != want {
			t.Errorf("%s: %d figures, want %d", role, len(figures), want)
		}
	}
}

func TestFiguresWithoutDetails(t *testing.T) {
	dir := comparison{name: "bare", kinds: []string{"bridge"}, sizes: []float64{64}, rates: []float64{5e5, 0}}.write(t, t.TempDir())
	for _, id := range []string{"0001", "0002"} {
		if err := os.Remove(filepath.Join(dir, "trials", id, result.DetailsFile)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := result.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"maximum: bridge 1", "rate: bridge 1", "load p50: bridge 1", "load p99: bridge 1", "load p99_99: bridge 1"}, shape(newPageData(r, nil).Figures)); diff != "" {
		t.Errorf("figures by the variables alone (-want +got):\n%s", diff)
	}
}
