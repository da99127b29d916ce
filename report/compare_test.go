package report

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

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

// If nothing else was measured, invalid trials provide the values, and the table says so.
func TestInvalidRepeatsAreCompared(t *testing.T) {
	said := func(verdict result.Verdict) string {
		trials := side("veth", 7000, 7100)
		trials[0].Verdict, trials[1].Verdict = result.Invalid, verdict
		a, b := &result.Result{Dir: "a", Summary: result.Summary{Trials: trials}}, &result.Result{Dir: "b", Summary: result.Summary{Trials: side("veth", 8000, 8100)}}
		var table strings.Builder
		if err := WriteComparison(&table, CompareResults(a, b)); err != nil {
			t.Fatal(err)
		}
		return table.String()
	}
	const words = "If all repeats of a side are invalid"
	if text := said(result.Invalid); !strings.Contains(text, words) {
		t.Errorf("it says nothing of that:\n%s", text)
	}
	if text := said(result.Clean); strings.Contains(text, words) {
		t.Errorf("one of the repeats is clean:\n%s", text)
	}
}

func TestCompareMarksWhatDiffersClearly(t *testing.T) {
	a := &result.Result{Dir: "a", Summary: result.Summary{Trials: append(append(side("veth", 7000, 7100, 7200), side("bridge", 9000, 9500, 8000)...), side("xdp", 4000)...)}}
	b := &result.Result{Dir: "b", Summary: result.Summary{Trials: append(append(side("bridge", 9100, 8200, 9300), side("veth", 14000, 14400, 14200)...), side("macvlan", 5000)...)}}
	c := CompareResults(a, b)
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
	if read.Level != 0.95 || read.Pairs[0].RepeatsA != 3 || *read.Pairs[0].Figures["latency_p50_ns"].Ratio != *veth.Ratio || read.Pairs[0].Figures["latency_p99_99_ns"].Ratio != nil {
		t.Errorf("the document is %s", document.String())
	}
}

func TestCompareValuesWithinOneResult(t *testing.T) {
	r := &result.Result{Dir: "r", Summary: result.Summary{Trials: append(side("veth", 7000, 7100, 7200), side("xdp", 4000, 4100, 4200)...)}}
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
	a := &result.Result{Dir: "a", Summary: result.Summary{Trials: side("veth", 7000)}}
	b := &result.Result{Dir: "b", Summary: result.Summary{Trials: side("veth", 70000)}}
	var out strings.Builder
	if err := WriteComparison(&out, CompareResults(a, b)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "higher") || !strings.Contains(out.String(), "10.000") || !strings.Contains(out.String(), "single repeat") {
		t.Error(out.String())
	}
}
