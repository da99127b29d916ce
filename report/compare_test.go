package report

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/test/golden"
)

func ratioBounds(a, b []float64) *Interval {
	return boundsOf(confidence.Ratio(a, b, bootstrapSeed))
}

func TestBootstrapCoversTheTrueRatio(t *testing.T) {
	// Two normal populations whose medians are 100 and 120: with ten repeats the
	// interval should hold 1.2 in about 95 of 100 experiments. A percentile
	// bootstrap of a median is known to be a little off; far off is a mistake.
	random := rand.New(rand.NewPCG(7, 7))
	covered, excludesOne := 0, 0
	const experiments = 200
	for range experiments {
		a, b := make([]float64, 10), make([]float64, 10)
		for i := range a {
			a[i], b[i] = 100+5*random.NormFloat64(), 120+6*random.NormFloat64()
		}
		interval := ratioBounds(a, b)
		if interval.Low <= 1.2 && 1.2 <= interval.High {
			covered++
		}
		if interval.Low > 1 {
			excludesOne++
		}
	}
	if share := float64(covered) / experiments; share < 0.88 || share > 0.995 {
		t.Errorf("the true ratio was covered in %.0f %% of the experiments", 100*share)
	}
	if excludesOne < experiments*95/100 {
		t.Errorf("a clear difference was seen in only %d of %d", excludesOne, experiments)
	}
}

func TestBootstrapIsTheSameEachTime(t *testing.T) {
	a, b := []float64{10, 11, 12}, []float64{20, 22, 25}
	if diff := cmp.Diff(ratioBounds(a, b), ratioBounds(a, b)); diff != "" {
		t.Error(diff)
	}
	if ratioBounds([]float64{10}, b) != nil || ratioBounds(a, []float64{20}) != nil {
		t.Error("one repeat has an interval")
	}
	if ratioBounds([]float64{0, 0, 1}, b) != nil {
		t.Error("a ratio to nothing has an interval")
	}
}

// side makes repeats of one combination with these medians in ns.
func side(kind string, p50s ...int64) []result.Trial {
	var trials []result.Trial
	for i, p50 := range p50s {
		trials = append(trials, trial(kind+string(rune('1'+i)), kind, 1000, i+1, p50, p50*3, -1, p50*50))
	}
	return trials
}

func pairFigure(t *testing.T, p Pair, name string) Compared {
	t.Helper()
	for _, c := range p.Figures {
		if c.Figure.Name == name {
			return c
		}
	}
	t.Fatalf("no figure %s", name)
	return Compared{}
}

func resultWith(dir string, trials ...[]result.Trial) *result.Result {
	return &result.Result{Dir: dir, Summary: result.Summary{Trials: slices.Concat(trials...)}}
}

// inTurn puts the trials of two sides into the order A B A B.
func inTurn(a, b []result.Trial) []result.Trial {
	var trials []result.Trial
	for i := range max(len(a), len(b)) {
		trials = append(trials, a[min(i, len(a)):min(i+1, len(a))]...)
		trials = append(trials, b[min(i, len(b)):min(i+1, len(b))]...)
	}
	return trials
}

// around are repeats that vary a little around a median in ns.
func around(kind string, n int, p50 int64) []result.Trial {
	var values []int64
	for i := range n {
		values = append(values, p50+int64(i-n/2)*p50/1000)
	}
	return side(kind, values...)
}

func spoilt(trials []result.Trial, verdict result.Verdict, places ...int) []result.Trial {
	for _, i := range places {
		trials[i].Verdict = verdict
	}
	return trials
}

// The rules for a decision: text and JSON give the same answer, each with the same reasons.
func TestADecisionNeedsTrialsThatCanDecide(t *testing.T) {
	twice := func(verdict result.Verdict, places ...int) []result.Trial {
		return spoilt(around("xdp", 6, 14_000), verdict, places...)
	}
	for _, c := range []struct {
		name   string
		trials []result.Trial
		want   Difference
		why    string
	}{
		{"six in turn", inTurn(around("veth", 6, 7000), twice(result.Clean)), Higher, ""},
		{"noisy ones count", inTurn(around("veth", 6, 7000), twice(result.Noisy, 0, 1, 2, 3, 4, 5)), Higher, ""},
		{"lower", inTurn(around("veth", 6, 28_000), twice(result.Clean)), Lower, ""},
		{"no difference", inTurn(around("veth", 6, 14_001), twice(result.Clean)), Unclear, ""},
		{"one is invalid", inTurn(around("veth", 6, 7000), twice(result.Invalid, 3)), Undecided, "1 of 6 trials of B is invalid"},
		{"seven, of which one is invalid", inTurn(spoilt(around("veth", 7, 7000), result.Invalid, 0), twice(result.Clean)), Undecided, "1 of 7 trials of A is invalid"},
		{"all of one side are", inTurn(around("veth", 6, 7000), twice(result.Invalid, 0, 1, 2, 3, 4, 5)), Unknown, "6 of 6 trials of B are invalid"},
		{"five", inTurn(around("veth", 5, 7000), twice(result.Clean)), Undecided, "A has 5 valid trials and B 6, and a decision needs 6 a side"},
		{"one", inTurn(around("veth", 1, 7000), around("xdp", 1, 14_000)), Undecided, "A has 1 valid trial and B 1"},
		{"one side after the other", append(around("veth", 6, 7000), twice(result.Clean)...), Undecided, drift},
	} {
		comparison, err := CompareValues(resultWith("r", c.trials), "kind", "veth", "xdp")
		if err != nil {
			t.Fatal(err)
		}
		p50 := pairFigure(t, comparison.Pairs[0], "latency_p50_ns")
		reasons := strings.Join(comparison.Pairs[0].Against, "; ")
		if p50.Verdict != c.want || c.why == "" && reasons != "" || !strings.Contains(reasons, c.why) {
			t.Errorf("%s: %s because %q, want %s because %q", c.name, p50.Verdict, reasons, c.want, c.why)
		}
		var table, document strings.Builder
		if err := errors.Join(WriteComparison(&table, comparison), WriteComparisonJSON(&document, comparison)); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(table.String()), " ")
		if decided := strings.Contains(text, "B higher") || strings.Contains(text, "B lower"); decided != (c.want == Higher || c.want == Lower) {
			t.Errorf("%s: the table says\n%s", c.name, table.String())
		}
		if strings.Contains(text, "A side whose repeats are all invalid") != strings.Contains(c.name, "all of one side") {
			t.Errorf("%s: the values are told of other trials:\n%s", c.name, table.String())
		}
		if !strings.Contains(text, c.why) || strings.Contains(text, "not decided") != (c.why != "") {
			t.Errorf("%s: the table gives no reason %q:\n%s", c.name, c.why, table.String())
		}
		var read struct {
			Pairs []struct {
				Because []string `json:"undecided_because"`
				Figures map[string]struct{ Difference Difference }
			}
		}
		if err := json.Unmarshal([]byte(document.String()), &read); err != nil {
			t.Fatal(err)
		}
		if one := read.Pairs[0]; one.Figures["latency_p50_ns"].Difference != c.want || strings.Join(one.Because, "; ") != reasons || one.Because == nil {
			t.Errorf("%s: JSON has %+v", c.name, one)
		}
	}
}

// Two results are of different times, so they decide nothing, unless the user knows more of the host.
func TestTwoResultsAreNotInterleaved(t *testing.T) {
	a, b := resultWith("a", around("veth", 6, 7000)), resultWith("b", around("veth", 6, 14_000))
	b.Summary.Rules = result.Rules
	if notes := strings.Join(notes(CompareResults(a, b, CompareOptions{})), " "); !strings.Contains(notes, "A has version 0 of nines' rules, and B "+strconv.Itoa(result.Rules)) {
		t.Errorf("results of different rules: %s", notes)
	}
	// on makes runs on some days, whose medians differ by up to a part.
	on := func(part float64, days ...int) []*result.Result {
		var runs []*result.Result
		for i, day := range days {
			r := resultWith("run", around("veth", 6, 7000+int64(7000*part*float64(i))))
			r.Summary.Started = time.Date(2026, 11, day, 12, 0, 0, 0, time.UTC)
			runs = append(runs, r)
		}
		return runs
	}
	for _, c := range []struct {
		name    string
		options CompareOptions
		want    Difference
		why     string
	}{
		{"nothing is known", CompareOptions{}, Undecided, drift},
		{"steady", CompareOptions{Steady: true}, Higher, "as --steady says"},
		{"runs of two days", CompareOptions{Reference: on(0.01, 1, 2, 2)}, Undecided, "valid trials of these variables on 2 days, and needs 3"},
		{"runs that differ little", CompareOptions{Reference: on(0.01, 1, 2, 3)}, Higher, "3 runs of the reference"},
		{"runs that differ much", CompareOptions{Reference: on(0.4, 1, 2, 3)}, Unclear, "3 runs of the reference"},
	} {
		comparison := CompareResults(a, b, c.options)
		p50 := pairFigure(t, comparison.Pairs[0], "latency_p50_ns")
		var table strings.Builder
		if err := WriteComparison(&table, comparison); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(table.String()), " "); p50.Verdict != c.want || !strings.Contains(text, c.why) {
			t.Errorf("%s: %s with %+v, want %s and %q in\n%s", c.name, p50.Verdict, p50.Interval, c.want, c.why, table.String())
		}
	}
}

// Of results of the same network, one after the other with a drift between trials, and of interleaved trials.
func TestFalseDecisions(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	const cases = 60
	drifting := func(n int) []int64 {
		values, z := make([]int64, n), random.NormFloat64()
		for i := range values {
			z = 0.8*z + 0.6*random.NormFloat64()
			values[i] = int64(10_000 * math.Exp(0.1*z))
		}
		return values
	}
	wrong := 0
	for range cases {
		both := drifting(12)
		c := CompareResults(resultWith("a", side("veth", both[:6]...)), resultWith("b", side("veth", both[6:]...)), CompareOptions{})
		if v := pairFigure(t, c.Pairs[0], "latency_p50_ns").Verdict; v == Higher || v == Lower {
			t.Fatalf("two results decide: %s", v)
		}
		var a, b []int64
		for i, value := range drifting(12) {
			if i%2 == 0 {
				a = append(a, value)
			} else {
				b = append(b, value)
			}
		}
		r := resultWith("r", inTurn(side("veth", a...), side("xdp", b...)))
		c, err := CompareValues(r, "kind", "veth", "xdp")
		if err != nil {
			t.Fatal(err)
		}
		if v := pairFigure(t, c.Pairs[0], "latency_p50_ns").Verdict; v == Higher || v == Lower {
			wrong++
		}
	}
	if wrong > cases/10 {
		t.Errorf("%d of %d interleaved comparisons of the same network find a difference", wrong, cases)
	}
}

func TestCompareMarksWhatDiffersClearly(t *testing.T) {
	a := resultWith("a", around("veth", 6, 7100), side("bridge", 9000, 9500, 8000, 9100, 8700, 8900), side("xdp", 4000))
	b := resultWith("b", side("bridge", 9100, 8200, 9300, 9000, 8800, 9400), around("veth", 6, 14_200), side("macvlan", 5000))
	c := CompareResults(a, b, CompareOptions{Steady: true})
	if len(c.Pairs) != 2 || c.Pairs[0].Variables["links.*.kind"] != "veth" {
		t.Fatalf("pairs: %+v", c.Pairs)
	}
	veth := pairFigure(t, c.Pairs[0], "latency_p50_ns")
	if veth.Verdict != Higher || math.Abs(*veth.Ratio-2) > 1e-9 || veth.Interval.Low < 1.9 || veth.Interval.High > 2.1 {
		t.Errorf("veth: %+v, ratio %v, interval %+v", veth.Verdict, *veth.Ratio, veth.Interval)
	}
	if bridge := pairFigure(t, c.Pairs[1], "latency_p50_ns"); bridge.Verdict != Unclear {
		t.Errorf("bridge: %s with %+v", bridge.Verdict, bridge.Interval)
	}
	if tail := pairFigure(t, c.Pairs[0], "latency_p99_99_ns"); tail.Verdict != Unknown || tail.Ratio != nil {
		t.Errorf("an unsupported percentile was compared: %+v", tail)
	}
	if offered := pairFigure(t, c.Pairs[0], "offered_pps"); offered.Verdict != Equal {
		t.Errorf("the same rate is %s", offered.Verdict)
	}
	if len(c.OnlyA) != 1 || c.OnlyA[0]["links.*.kind"] != "xdp" || len(c.OnlyB) != 1 || c.OnlyB[0]["links.*.kind"] != "macvlan" {
		t.Errorf("only in A %v, only in B %v", c.OnlyA, c.OnlyB)
	}
	var table, document strings.Builder
	if err := WriteComparison(&table, c); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, filepath.Join("testdata", "compare.txt"), table.String())
	if err := WriteComparisonJSON(&document, c); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Level float64
		Pairs []struct {
			RepeatsA int `json:"repeats_a"`
			Figures  map[string]struct {
				Ratio      *float64
				Difference string
			}
		}
	}
	if err := json.Unmarshal([]byte(document.String()), &read); err != nil {
		t.Fatal(err)
	}
	if read.Level != 0.95 || read.Pairs[0].RepeatsA != 6 || *read.Pairs[0].Figures["latency_p50_ns"].Ratio != *veth.Ratio || read.Pairs[0].Figures["latency_p99_99_ns"].Ratio != nil {
		t.Errorf("the document is %s", document.String())
	}
}

func TestCompareValuesWithinOneResult(t *testing.T) {
	r := resultWith("r", inTurn(around("veth", 6, 7100), around("xdp", 6, 4100)))
	c, err := CompareValues(r, "kind", "veth", "xdp")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Pairs) != 1 || c.By != "links.*.kind" || c.B != "links.*.kind=xdp" {
		t.Fatalf("%+v", c)
	}
	if diff := cmp.Diff(map[string]any{"traffic.rate_pps": 1000.0}, c.Pairs[0].Variables); diff != "" {
		t.Error(diff)
	}
	if p50 := pairFigure(t, c.Pairs[0], "latency_p50_ns"); p50.Verdict != Lower {
		t.Errorf("xdp is %s", p50.Verdict)
	}
	for _, wrong := range []struct{ variable, a, b, want string }{
		{"kind", "veth", "ovs", "the values are veth, xdp"}, {"kinds", "veth", "xdp", "varies traffic.rate_pps, links.*.kind"},
	} {
		_, err := CompareValues(r, wrong.variable, wrong.a, wrong.b)
		if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), wrong.want) {
			t.Errorf("%v, want %q", err, wrong.want)
		}
	}
}

func TestCompareOfSingleRepeatsClaimsNothing(t *testing.T) {
	var out strings.Builder
	if err := WriteComparison(&out, CompareResults(resultWith("a", side("veth", 7000)), resultWith("b", side("veth", 70000)), CompareOptions{})); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "higher") || !strings.Contains(out.String(), "10.000") || !strings.Contains(out.String(), "A has 1 valid trial") {
		t.Error(out.String())
	}
}
