package figure

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
)

// at is the value of a step curve.
func (s Series) at(x float64) float64 {
	y := math.NaN()
	for _, p := range s.Points {
		if p.X <= x*(1+1e-9) {
			y = p.Y
		}
	}
	return y
}

func TestPercentileCurves(t *testing.T) {
	in := sweep().open(t)
	for _, trial := range in.Result.Summary.Trials {
		f := mustMake(t, Options{Kind: HDR, Trials: []string{trial.ID}}, in)
		curve := f.Series[0]
		for _, p := range result.NamedPercentiles() {
			want := p.Of(trial.Latency)
			if want == nil {
				continue
			}
			// Curves keep points that differ by 2.3 %.
			if got := curve.at(1 / (1 - p.P)); math.Abs(got*1000/float64(*want)-1) > 0.03 {
				t.Errorf("trial %s: %s is %g µs, want %d ns", trial.ID, p.Name, got, *want)
			}
		}
		if last := curve.Points[len(curve.Points)-1]; last.Y*1000 != float64(*trial.Latency.Max) || last.X != float64(trial.RxPackets) {
			t.Errorf("trial %s ends at %v, want its maximum %d at its count %d", trial.ID, last, *trial.Latency.Max, trial.RxPackets)
		}
	}
}

func TestRepeatsAreABandAroundTheLine(t *testing.T) {
	in := sweep().open(t)
	where := []Condition{{Key: "rate_pps", Values: []string{"10000"}}}
	f := mustMake(t, Options{Kind: HDR, Where: where}, in)
	if got := labels(f); got != "bridge; veth; SR-IOV*; " {
		t.Errorf("labels: %s", got)
	}
	for _, s := range f.Series[:2] {
		if len(s.Band) < 100 {
			t.Errorf("%s has a band of %d points", s.Label, len(s.Band))
		}
		for _, r := range s.Band {
			// 1.0 and 1.1 of the same: the bands have a width, and contain the line.
			if r.High/r.Low < 1.05 || r.High/r.Low > 1.15 || s.at(r.X) < r.Low*0.97 || s.at(r.X) > r.High*1.03 {
				t.Fatalf("%s at %g: %g to %g around %g", s.Label, r.X, r.Low, r.High, s.at(r.X))
			}
		}
	}
	for repeats, want := range map[Repeats][2]int{RepeatsLines: {3, 2}, RepeatsNone: {3, 0}, RepeatsEach: {5, 0}} {
		f := mustMake(t, Options{Kind: HDR, Where: where, Repeats: repeats}, in)
		if got := [2]int{len(f.Series), len(f.Series[0].Thin)}; got != want || f.Series[0].Band != nil {
			t.Errorf("%s: %v series and thin lines, want %v", repeats, got, want)
		}
	}
}

func TestHistogramCountsEachPacketOnce(t *testing.T) {
	in := sweep().open(t)
	where := []Condition{{Key: "rate_pps", Values: []string{"400000"}}}
	for _, end := range []int64{0, 20_000} {
		f := mustMake(t, Options{Kind: Histogram, Where: where, MaxLatencyNs: end}, in)
		for i, want := range []float64{31_000, 40_000} {
			sum := 0.0
			points := f.Series[i].Points
			for j := range points[:len(points)-1] {
				if points[j].Y > floor && points[j+1].X > points[j].X { // the top of a bin
					sum += points[j].Y
				}
			}
			if end == 0 && sum != want {
				t.Errorf("%s: %g packets are drawn, want %g", f.Series[i].Label, sum, want)
			}
			if end > 0 && (sum >= want || !strings.Contains(strings.Join(f.Notes, " "), "beyond the axis")) {
				t.Errorf("%s: %g packets up to 20 µs, notes %v", f.Series[i].Label, sum, f.Notes)
			}
		}
	}
}

func TestWorstHasTheOutliers(t *testing.T) {
	in := sweep().open(t)
	f := mustMake(t, Options{Kind: Worst, Trials: []string{"0001"}}, in)
	outliers, err := in.Result.TrialFolder("0001").Outliers()
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Series) != 1 || len(f.Series[0].Points) != len(outliers) {
		t.Fatalf("%d series", len(f.Series))
	}
	for i, o := range outliers {
		if p := f.Series[0].Points[i]; math.Abs(p.X*1e9-float64(o.IntendedNs)) > 0.5 || math.Abs(p.Y*1000-float64(o.LatencyNs)) > 1e-3 {
			t.Errorf("outlier %d is at %v, want %v", i, p, o)
		}
	}
}

func TestRateCountsTheLastSecondByItsPart(t *testing.T) {
	f := mustMake(t, Options{Kind: Rate, Trials: []string{"0003"}}, sweep().open(t))
	if got := labels(f); got != "offered = sent; received; " {
		t.Errorf("labels: %s", got)
	}
	for i, want := range []float64{400, 320} {
		for _, p := range f.Series[i].Points {
			if math.Abs(p.Y-want) > 0.01 {
				t.Errorf("%s: %v, want %g kpkt/s", f.Series[i].Label, p, want)
			}
		}
	}
	if f.Y.Title != "packet rate (kpkt/s)" || len(f.Series[0].Points) != 5 || f.Series[0].Points[4].X != 3.5 {
		t.Errorf("axis %q, points %v", f.Y.Title, f.Series[0].Points)
	}
}

func TestLossAndThroughputAreThoseOfTheSummary(t *testing.T) {
	in := sweep().open(t)
	f := mustMake(t, Options{Kind: Loss}, in)
	bridge := f.Series[0]
	if last := bridge.Points[2]; last != (Point{400, 22.5}) || bridge.Ranges[2] != (Range{400, 20, 25}) {
		t.Errorf("the bridge loses %v, %v; want 22.5 %% of 20 to 25", last, bridge.Ranges[2])
	}
	if veth := f.Series[1]; veth.Points[2].Y != 0 {
		t.Errorf("veth loses %v", veth.Points)
	}
	f = mustMake(t, Options{Kind: Throughput}, in)
	if got := f.Series[0].Points[2]; got != (Point{400, 310}) {
		t.Errorf("the bridge forwards %v, want 310 of 400", got)
	}
	published := f.Series[2]
	if published.Look != 0 || published.Source != 1 || published.Points[1] != (Point{400, 250}) || len(f.Guides) != 1 {
		t.Errorf("the published curve means the bridge: %+v", published)
	}
	// The median of the repeats' p99.
	f = mustMake(t, Options{Kind: Latency, Percentile: "max"}, in)
	if got := f.Series[1].Points[0]; math.Abs(got.Y-84) > 0.1 || f.Y.Title != "maximum latency (µs)" {
		t.Errorf("veth's greatest latency is %v", got)
	}
}

func TestThroughputBySizeAndAtAll(t *testing.T) {
	f := mustMake(t, Options{Kind: Throughput}, sizes().open(t))
	if got := f.Series[0].Points[0]; got.X != 64 || math.Abs(got.Y-501.5) > 1e-9 || f.X.Title != "frame size (bytes)" {
		t.Errorf("raw at 64 bytes: %v on %q", got, f.X.Title)
	}
	f = mustMake(t, Options{Kind: Throughput}, maxima().open(t))
	want := []string{"UDP send/recv", "UDP sendmmsg/recvmmsg", "raw send/recv", "raw sendmmsg/recvmmsg", "SR-IOV"}
	if !slices.Equal(f.Categories, want) {
		t.Errorf("categories %q", f.Categories)
	}
	if p := f.Series[1].Points; len(p) != 3 || p[1] != (Point{594, 3}) || p[2] != (Point{900, 4}) || f.Series[0].Points[3] != (Point{815, 3}) {
		t.Errorf("bars %v and %v", f.Series[0].Points, p)
	}
}

func TestSearchesAreDrawnByWhatTheyFound(t *testing.T) {
	in := searched(false).open(t)
	f := mustMake(t, Options{Kind: Throughput}, in)
	if got := labels(f); got != "NDR; PDR; " || len(f.Series[0].Points) != 2 || f.Series[0].Points[0] != (Point{64, 50}) {
		t.Errorf("%s %v", got, f.Series[0].Points)
	}
	if notes := strings.Join(f.Notes, "; "); !strings.Contains(notes, "not conformant: quick") {
		t.Errorf("notes %q", notes)
	}
	// Only the latency at the result counts, not the search for it.
	f = mustMake(t, Options{Kind: HDR}, in)
	if got := labels(f); got != "latency at 50 % of NDR; latency at 100 % of NDR; " {
		t.Errorf("curves %s", got)
	}
	f = mustMake(t, Options{Kind: HDR, Where: []Condition{{Key: "purpose", Values: []string{"search for NDR"}}}}, in)
	if got := labels(f); got != "400 kpkt/s; 200 kpkt/s; " { // none is a repeat of another
		t.Errorf("curves %s", got)
	}
	f = mustMake(t, Options{Kind: Loss}, in)
	if got := f.Series[0].Points; len(got) != 3 || got[2] != (Point{400, 10}) {
		t.Errorf("loss %v", got)
	}
	f = mustMake(t, Options{Kind: Loss}, searched(true).open(t))
	if got := f.Series[0].Points; len(got) != 2 || got[0] != (Point{400, 12.5}) || got[1] != (Point{800, 25}) || f.Y.Title != "frame loss rate (%)" {
		t.Errorf("frame loss rate %v", got)
	}
}

func TestSeveralResultsAreNamed(t *testing.T) {
	a, b := sweep().open(t), sweep().open(t)
	a.Label, b.Label = "before", "after"
	where := []Condition{{Key: "rate_pps", Values: []string{"10000"}}}
	f := mustMake(t, Options{Kind: HDR, Where: where}, a, b)
	if got := labels(f); got != "before, bridge; before, veth; after, bridge; after, veth; SR-IOV*; " {
		t.Errorf("labels: %s", got)
	}
	f = mustMake(t, Options{Kind: Throughput, Where: []Condition{{Key: "result", Values: []string{"after"}}}}, a, b)
	if got := labels(f); got != "bridge; veth; bridge (one packet a call)*; " {
		t.Errorf("labels: %s", got)
	}
	f = mustMake(t, Options{Kind: HDR, GroupBy: []string{"result"}}, a, b)
	if got := labels(f); got != "before; after; SR-IOV*; " {
		t.Errorf("labels: %s", got)
	}
}

func TestSelectionErrors(t *testing.T) {
	plain := made{name: "plain", records: []result.Record{record(map[string]any{}, 1, 1000, 4000, 0)}}.open(t)
	for name, test := range map[string]struct {
		in   Input
		o    Options
		want []string
	}{
		"trial":    {plain, Options{Kind: HDR, Trials: []string{"0009"}}, []string{"trial 0009 does not exist", "the trials are 0001"}},
		"key":      {sweep().open(t), Options{Kind: HDR, Where: []Condition{{Key: "colour", Values: []string{"red"}}}}, []string{"colour", "links.*.kind"}},
		"value":    {sweep().open(t), Options{Kind: HDR, Where: []Condition{{Key: "kind", Values: []string{"ovs"}}}}, []string{"links.*.kind=ovs", "bridge, veth"}},
		"group":    {sweep().open(t), Options{Kind: HDR, GroupBy: []string{"colour"}}, []string{"colour"}},
		"too many": {many().open(t), Options{Kind: HDR}, []string{"25 curves", "at most 8", "--where traffic.flows=1"}},
		"nothing":  {plain, Options{Kind: Throughput}, []string{"nothing to draw for the figure throughput", "there is data for hdr, histogram, worst, rate"}},
		"kind":     {plain, Options{Kind: "pie"}, []string{"hdr, histogram"}},
		"figure":   {sweep().open(t), Options{Kind: Latency, Percentile: "p98"}, []string{"p98", "p99_9"}},
	} {
		_, err := Of([]Input{test.in}, test.o)
		if exit.Code(err) != exit.Wrong {
			t.Errorf("%s: %v, want exit code 2", name, err)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
	}
}

// A missing file is reported; a damaged one is an error.
func TestMissingAndDamagedFiles(t *testing.T) {
	in := sweep().open(t)
	path := filepath.Join(in.Result.Dir, "trials", "0001", result.OutliersFile)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f := mustMake(t, Options{Kind: Worst, Trials: []string{"0001", "0002"}}, in)
	if len(f.Series) != 1 || !strings.Contains(strings.Join(f.Notes, " "), "trials/0001/outliers.csv") {
		t.Errorf("%d series, notes %q", len(f.Series), f.Notes)
	}
	if err := os.WriteFile(path, []byte("id\nx\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Of([]Input{in}, Options{Kind: Worst}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("damaged: %v", err)
	}
}

// TestAResultKeepsItsName: a label that someone gave one result is in the legend, beside published
// points and before what tells its curves apart.
func TestAResultKeepsItsName(t *testing.T) {
	in := sweep().open(t)
	one := []Condition{{Key: "rate_pps", Values: []string{"10000"}}, {Key: "kind", Values: []string{"veth"}}}
	if got := labels(mustMake(t, Options{Kind: HDR, Where: one}, in)); got != "measured; SR-IOV*; " {
		t.Errorf("without a label: %s", got)
	}
	in.Label = "my host"
	if got := labels(mustMake(t, Options{Kind: HDR, Where: one}, in)); got != "my host; SR-IOV*; " {
		t.Errorf("with a label: %s", got)
	}
	if got := labels(mustMake(t, Options{Kind: HDR, Where: one[:1]}, in)); got != "my host, bridge; my host, veth; SR-IOV*; " {
		t.Errorf("two curves with a label: %s", got)
	}
}

// TestAFigureTellsHowFarItIs: of the trials that it reads, and of those whose files are drawn.
func TestAFigureTellsHowFarItIs(t *testing.T) {
	in := sweep().open(t)
	all := len(in.Result.Summary.Trials)
	for kind, stages := range map[Kind][]string{
		HDR: {stageDetails, stageFiles}, Histogram: {stageDetails, stageFiles}, Worst: {stageDetails, stageFiles}, Rate: {stageDetails, stageFiles}, Loss: {stageDetails},
	} {
		last, order := map[string]int{}, []string{}
		mustMake(t, Options{Kind: kind, Progress: func(stage string, done, of int) {
			if last[stage] == 0 {
				order = append(order, stage)
			}
			if last[stage]++; done != last[stage] || of != all {
				t.Errorf("%s, %s: %d of %d after %d", kind, stage, done, of, last[stage]-1)
			}
		}}, in)
		if !slices.Equal(order, stages) {
			t.Errorf("%s: the stages are %q", kind, order)
		}
		for _, stage := range stages {
			if last[stage] != all {
				t.Errorf("%s, %s: ended at %d of %d", kind, stage, last[stage], all)
			}
		}
	}
}
