package figure

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
)

// nine has three kinds of link at three rates, more than can be told apart in one area.
func nine() made {
	m := made{name: "nine"}
	for i, kind := range []string{"bridge", "veth", "xdp"} {
		for j, pps := range []float64{1e4, 2e5, 4e5} {
			m.records = append(m.records, record(map[string]any{"links.*.kind": kind, rateKey: pps}, 1, pps, float64(1000*(i+1)*(j+1)), 0))
		}
	}
	return m
}

// panelsOf is the panels' titles, each with its curves.
func panelsOf(f *Figure) string {
	var list []string
	for _, p := range f.Panels {
		var curves []string
		for _, s := range p.Series {
			curves = append(curves, fmt.Sprintf("%s %d", s.Label+sign(s.Source), s.Look))
		}
		list = append(list, p.Title+": "+strings.Join(curves, ", "))
	}
	return strings.Join(list, "\n")
}

func TestMoreCurvesThanCanBeToldApartAreDivided(t *testing.T) {
	in := nine().open(t)
	const want = "10 kpkt/s: bridge 0, veth 1, xdp 2\n200 kpkt/s: bridge 0, veth 1, xdp 2\n400 kpkt/s: bridge 0, veth 1, xdp 2"
	for _, kind := range []Kind{HDR, Histogram, Worst} {
		f := mustMake(t, Options{Kind: kind}, in)
		if got := panelsOf(f); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", kind, got, want)
		}
		if l := f.legend(PageWidth); len(l.labels) != 3 {
			t.Errorf("%s: the legend has %q", kind, l.labels)
		}
	}
	f := mustMake(t, Options{Kind: Rate}, in)
	if got := strings.Split(panelsOf(f), "\n")[0]; got != "10 kpkt/s: bridge, offered = sent = received 0, veth, offered = sent = received 1, xdp, offered = sent = received 2" {
		t.Errorf("rate: %s", got)
	}
	if f := mustMake(t, Options{Kind: Latency}, in); f.Panels != nil || len(f.Series) != 3 {
		t.Errorf("three curves over the rate are divided: %s", panelsOf(f))
	}
}

func TestPanelsOnRequest(t *testing.T) {
	in := sweep().open(t)
	f := mustMake(t, Options{Kind: HDR, Panels: []string{"kind"}}, in)
	// The published curve belongs to no kind, so both panels have it.
	if got := panelsOf(f); got != "bridge: 10 kpkt/s 0, 200 kpkt/s 1, 400 kpkt/s 2, SR-IOV* 3\nveth: 10 kpkt/s 0, 200 kpkt/s 1, 400 kpkt/s 2, SR-IOV* 3" {
		t.Errorf("panels:\n%s", got)
	}
	f = mustMake(t, Options{Kind: Throughput, Panels: []string{"kind"}}, in)
	if got := panelsOf(f); got != "bridge: measured 0, bridge (one packet a call)* 0\nveth: measured 0" {
		t.Errorf("panels:\n%s", got)
	}
	for name, o := range map[string]Options{
		"no single variable": {Kind: HDR, Panels: []string{"colour"}},
		"has none":           {Kind: Throughput, Panels: []string{"sockets"}},
	} {
		of := in
		if o.Kind == Throughput {
			of = maxima().open(t)
		}
		if _, err := Of([]Input{of}, o); exit.Code(err) != exit.Wrong || !strings.Contains(fmt.Sprint(err), name) {
			t.Errorf("%v: %v", o.Panels, err)
		}
	}
}

// TestPooledRepeatsAreTold: tables have the median of the repeats' percentiles, which is another number.
func TestPooledRepeatsAreTold(t *testing.T) {
	const pooled = "lines are all packets of the repeats together"
	in := sweep().open(t)
	for repeats, want := range map[Repeats]bool{RepeatsAuto: true, RepeatsNone: true, RepeatsBand: false, RepeatsEach: false} {
		if f := mustMake(t, Options{Kind: HDR, Repeats: repeats}, in); slices.Contains(f.Notes, pooled) != want {
			t.Errorf("%s: notes %q", repeats, f.Notes)
		}
	}
}

// TestPanelsHaveOneScaleAndRoom: their areas are of one size, within the figure and apart.
func TestPanelsHaveOneScaleAndRoom(t *testing.T) {
	f := mustMake(t, Options{Kind: HDR}, nine().open(t))
	for _, width := range []vg.Length{ColumnWidth, PageWidth} {
		if svg := rendered(t, f, "svg", Size{Width: width}); !strings.Contains(string(svg), "Panel 3: 400 kpkt/s.") {
			t.Errorf("the description lacks the panels: %.600s", svg)
		}
	}
	columns, rows := f.grid(ColumnWidth)
	if columns != 2 || rows != 2 {
		t.Errorf("%d × %d panels in a column", columns, rows)
	}
	if columns, rows = f.grid(PageWidth); columns != 3 || rows != 1 {
		t.Errorf("%d × %d panels on a page", columns, rows)
	}
}

func TestLogarithmicBins(t *testing.T) {
	b := binning{}
	for _, ns := range []int64{1, 999, 4000, 1_000_000, 123_456_789} {
		at := b.index(ns)
		if low, high := b.edge(at), b.edge(at+1); float64(ns) < low*(1-1e-9) || float64(ns) >= high*(1+1e-9) || math.Abs(high/low-math.Pow(10, 1./binsPerDecade)) > 1e-9 {
			t.Errorf("%d is in the bin from %g to %g", ns, low, high)
		}
	}
	if !b.fits([]counted{{values: []int64{4000}, binNs: 100}}) || b.fits([]counted{{values: []int64{400}, binNs: 100}}) {
		t.Error("bins of 100 ns fit into logarithmic ones from 900 ns on")
	}
	in := nine().open(t)
	where := []Condition{{Key: "kind", Values: []string{"veth"}}}
	if f := mustMake(t, Options{Kind: Histogram, Where: where}, in); !f.X.Log || f.Y.Title != "packets in each bin (20 a decade)" {
		t.Errorf("%+v, %q", f.X, f.Y.Title)
	}
	if f := mustMake(t, Options{Kind: Histogram, Where: where, LinearBins: true}, in); f.X.Log || !strings.HasPrefix(f.Y.Title, "packets in each 1 µs") {
		t.Errorf("%v, %q", f.X.Log, f.Y.Title)
	}
}

// TestRatesThatAreTheSameAreOneLine: of flows, and of combinations.
func TestRatesThatAreTheSameAreOneLine(t *testing.T) {
	in := nine().open(t)
	f := mustMake(t, Options{Kind: Rate, Where: []Condition{{Key: "rate_pps", Values: []string{"10000"}}}}, in)
	if got := labels(f); got != "bridge; veth; xdp, offered = sent = received; " {
		t.Errorf("lines: %s", got)
	}
}

func TestWorstLeavesOutTheBulk(t *testing.T) {
	m := made{name: "bulk"}
	r := record(map[string]any{}, 1, 1000, 4000, 0)
	for i := range 900 {
		r.Outliers = append(r.Outliers, result.Outlier{ID: uint32(100_000 + i), LatencyNs: 4000, IntendedNs: int64(i) * 1e6})
	}
	m.records = append(m.records, r)
	in := m.open(t)
	f := mustMake(t, Options{Kind: Worst}, in)
	if got := len(f.Series[0].Points); got != 20_000/slowestShare || !slices.ContainsFunc(f.Notes, func(n string) bool { return strings.HasPrefix(n, "of each trial the slowest packet of each 100 ") }) {
		t.Errorf("%d packets are drawn, notes %q", got, f.Notes)
	}
	if f = mustMake(t, Options{Kind: Worst, Slowest: 70}, in); len(f.Series[0].Points) != 70 || f.Notes[0] != "of each trial the 70 slowest packets are drawn" {
		t.Errorf("%d packets are drawn, notes %q", len(f.Series[0].Points), f.Notes)
	}
}

func TestJitterHasTheInterruptionsOfEachThread(t *testing.T) {
	r := record(map[string]any{}, 1, 1000, 4000, 0)
	r.Interruptions = []result.Interruption{
		{Thread: "loop", CPU: 1, Kind: "turn", BeginNs: -5, LengthNs: 12_000}, {Thread: "loop", CPU: 1, Kind: "turn", BeginNs: 2e9, LengthNs: 30_000},
		{Thread: "CPU 0", Kind: "softirq", BeginNs: 1e9, LengthNs: 50_000},
	}
	r.Trial.Interruptions = &result.Interruptions{Witnesses: []result.Witness{{Thread: "loop", Overflow: 3}}, Unseen: []string{"the forwarder: no tracepoints"}}
	f := mustMake(t, Options{Kind: Jitter}, made{name: "j", records: []result.Record{r}}.open(t))
	if got := labels(f); got != "CPU 0; loop; " || !slices.Equal(f.Series[1].Points, []Point{{0, 12}, {2, 30}}) {
		t.Errorf("%s %v", got, f.Series)
	}
	if notes := strings.Join(f.Notes, "; "); notes != "the list of loop had no room for some interruptions; not seen: the forwarder: no tracepoints" {
		t.Errorf("notes: %s", notes)
	}
	// The packets of a measurement of jitter are gaps.
	gaps := record(map[string]any{"cpu": 1.0}, 1, 1000, 4000, 0)
	gaps.Details.Role = result.JitterRole
	if f = mustMake(t, Options{Kind: Jitter}, made{name: "g", records: []result.Record{gaps}}.open(t)); len(f.Series) != 1 || len(f.Series[0].Points) != len(gaps.Outliers) {
		t.Errorf("%s", labels(f))
	}
	if _, err := Of([]Input{sweep().open(t)}, Options{Kind: Jitter}); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "nines trace jitter") {
		t.Errorf("without interruptions: %v", err)
	}
}

// TestWhiskersStandBesideOneAnother: those of two curves at one rate do not lie on one another.
func TestWhiskersStandBesideOneAnother(t *testing.T) {
	f := mustMake(t, Options{Kind: Latency, Percentile: "max"}, sweep().open(t))
	p := panel{figure: f}
	var places []vg.Length
	for _, s := range f.Series {
		places = append(places, p.aside(s))
	}
	slices.Sort(places)
	if len(places) != 2 || places[1]-places[0] < 2*whiskerHalf {
		t.Errorf("the curves stand aside by %v", places)
	}
}

// TestPanelsAreInTheOrderOfTheirNumbers: also where the first kind has no trial at one of them; and what is invalid is
// pale, as another panel may have the same look.
func TestPanelsAreInTheOrderOfTheirNumbers(t *testing.T) {
	m := nine()
	m.records = append(m.records[1:], m.records[:1]...) // bridge's first rate comes last
	m.records[0].Trial.Verdict, m.records[0].Trial.Reasons = result.Invalid, []string{"made up"}
	f := mustMake(t, Options{Kind: HDR}, m.open(t))
	if got := panelsOf(f); !strings.HasPrefix(got, "10 kpkt/s: ") || !strings.Contains(got, "bridge (invalid) ") {
		t.Errorf("panels:\n%s", got)
	}
	for _, s := range f.Series {
		if isPale := s.color() != palette[s.Look]; isPale != strings.HasSuffix(s.Label, "(invalid)") {
			t.Errorf("%s is pale: %v", s.Label, isPale)
		}
	}
}

// interrupted has threads of two kinds of link that something interrupts each 20 ms, and one that something else does.
func interrupted() made {
	m := made{name: "interrupted"}
	for i, kind := range []string{"bridge", "veth"} {
		r := record(map[string]any{"links.*.kind": kind}, 1, 1e4, 5000, 0)
		for tick := range int64(150) {
			r.Interruptions = append(r.Interruptions, result.Interruption{Thread: "loop", BeginNs: tick * 2e7, LengthNs: int64(1+3*i) * (2000 + 37*(tick*tick%101))})
			if tick%10 == 0 {
				r.Interruptions = append(r.Interruptions, result.Interruption{Thread: "dut", BeginNs: tick*2e7 + 1e6, LengthNs: int64(1+i) * (50_000 + 10_000*(tick%7))})
			}
		}
		r.Trial.Interruptions = &result.Interruptions{Witnesses: []result.Witness{{Thread: "loop"}, {Thread: "dut"}}}
		m.records = append(m.records, r)
	}
	return m
}
