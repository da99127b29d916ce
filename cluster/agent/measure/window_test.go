package measure

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/result"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// trialOf is a trial with packets of 1 µs to count µs, which its blocks of time have in turn.
func trialOf(tier string, at time.Time, count int, verdict result.Verdict, reasons ...string) Trial {
	const blocks = 20
	h := result.NewHistogram()
	var packed []*result.Packed
	for block := range blocks {
		of := result.NewHistogram()
		for i := block + 1; i <= count; i += blocks {
			of.Record(int64(i) * 1000)
		}
		h.Merge(of)
		packed = append(packed, of.Packed())
	}
	return Trial{Tier: tier, Load: load, At: at, Verdict: verdict, Reasons: reasons, Latency: h, Blocks: confidence.TrialBlocks(packed)}
}

func figures(t *testing.T, w *Window, now time.Time) map[string]v1alpha1.Figure {
	t.Helper()
	list, err := w.Figures(now)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]v1alpha1.Figure{}
	for _, f := range list {
		out[f.Tier] = f
	}
	return out
}

func newWindow() *Window { return &Window{Length: time.Hour, Valid: 15 * time.Minute} }

func TestAFigureIsOfAllTrialsOfTheWindow(t *testing.T) {
	w := newWindow()
	w.Add(trialOf("veth", noon.Add(-2*time.Hour), 100_000, result.Clean)) // too old
	w.Add(trialOf("veth", noon.Add(-50*time.Minute), 1000, result.Clean))
	w.Add(trialOf("veth", noon, 1000, result.Clean))
	w.Add(trialOf("bridge", noon, 10, result.Clean))
	all := figures(t, w, noon)
	f := all["veth"]
	if f.Count != 2000 || f.MaxNs != 1_000_000 || f.Verdict != v1alpha1.Clean || f.Peer != "" || f.Way != v1alpha1.OneWay {
		t.Errorf("%+v", f)
	}
	if !f.MeasuredAt.Time.Equal(noon) || f.ValidUntil.Sub(noon) != 15*time.Minute {
		t.Errorf("from %s to %s", f.MeasuredAt, f.ValidUntil)
	}
	// 2,000 packets support p99.9, 10 support p90.
	for tier, want := range map[string]string{"veth": "99.9", "bridge": "90"} {
		list := all[tier].Percentiles
		if last := list[len(list)-1]; last.P != want {
			t.Errorf("%s ends with p%s", tier, last.P)
		}
	}
	for _, p := range f.Percentiles {
		if p.UpperNs != nil && *p.UpperNs < p.ValueNs {
			t.Errorf("p%s is %d, at most %d", p.P, p.ValueNs, *p.UpperNs)
		}
	}
	// The histogram is what others read.
	read, err := hdrhistogram.Decode([]byte(base64.StdEncoding.EncodeToString(f.Histogram)))
	if err != nil || read.TotalCount() != 2000 {
		t.Errorf("the histogram: %v, %v", read, err)
	}
}

func TestNoiseIsSaid(t *testing.T) {
	w := newWindow()
	w.Add(trialOf("veth", noon, 1000, result.Noisy, "the host took the CPU for 3 ms"))
	w.Add(trialOf("veth", noon, 1000, result.Clean))
	w.Add(trialOf("veth", noon, 0, result.Invalid, "it sent 10 % less than it should"))
	f := figures(t, w, noon)["veth"]
	if f.Verdict != v1alpha1.Noisy || len(f.Reasons) != 1 || f.Count != 2000 {
		t.Errorf("%+v", f)
	}
}

func TestOnlyInvalidTrialsGiveNoFigure(t *testing.T) {
	w := newWindow()
	w.Add(trialOf("veth", noon, 1000, result.Invalid, "it sent 10 % less than it should"))
	f := figures(t, w, noon)["veth"]
	if f.Verdict != v1alpha1.Invalid || f.Count != 0 || len(f.Percentiles) != 0 || !strings.Contains(f.Reasons[0], "10 %") {
		t.Errorf("%+v", f)
	}
}

func TestATierWithoutTrialsHasNoFigure(t *testing.T) {
	w := newWindow()
	w.Add(trialOf("veth", noon.Add(-61*time.Minute), 1000, result.Clean))
	if all := figures(t, w, noon); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

func TestPercentilesAreWrittenAsPeopleDo(t *testing.T) {
	want := []string{"50", "90", "99", "99.9", "99.99", "99.999", "99.9999"}
	for i, named := range result.NamedPercentiles() {
		if got := percentOf(named.P); got != want[i] {
			t.Errorf("%g is p%s, not p%s", named.P, got, want[i])
		}
	}
}

// to is a trial of the path to another node.
func to(peer string, t Trial) Trial {
	t.Tier, t.Peer = NodeNetwork, peer
	return t
}

func TestTheWayToEachNodeHasAFigureOfItsOwn(t *testing.T) {
	w := newWindow()
	w.Add(to("n2", trialOf("", noon, 1000, result.Clean)))
	w.Add(to("n3", trialOf("", noon, 500, result.Clean)))
	slow := to("n3", trialOf("", noon, 500, result.Clean))
	slow.Valid = 2 * time.Hour
	w.Add(slow)
	list, err := w.Figures(noon)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].Peer != "n2" || list[1].Peer != "n3" || list[1].Count != 1000 || list[0].Way != v1alpha1.RoundTrip {
		t.Fatalf("%+v", list)
	}
	if list[0].ValidUntil.Sub(noon) != 15*time.Minute || list[1].ValidUntil.Sub(noon) != 2*time.Hour {
		t.Errorf("until %s and %s", list[0].ValidUntil, list[1].ValidUntil)
	}
}

func TestAWayThatHasChangedBeginsAnew(t *testing.T) {
	w := newWindow()
	for i := range 5 {
		w.Add(trialOf("veth", noon.Add(time.Duration(i)*time.Minute), 1000, result.Clean))
		w.Add(trialOf("bridge", noon.Add(time.Duration(i)*time.Minute), 1000, result.Clean))
	}
	w.Add(trialOf("veth", noon.Add(5*time.Minute), 0, result.Invalid, "it sent 10 % less than it should")) // says nothing
	newest, err := w.Newest()
	if err != nil {
		t.Fatal(err)
	}
	if len(newest) != 2 || newest[1].Count != 1000 || !newest[1].MeasuredAt.Time.Equal(noon.Add(4*time.Minute)) {
		t.Errorf("%+v", newest)
	}
	w.Restart(Way{Tier: "veth"})
	all := figures(t, w, noon.Add(5*time.Minute))
	if all["veth"].Count != 2000 || all["bridge"].Count != 5000 {
		t.Errorf("%d of veth, %d of bridge", all["veth"].Count, all["bridge"].Count)
	}
}

// TestABurstIsOneEvent: 12 trials of 5,000 packets have 120 slow ones, 2 in 1,000. One by one they bound p99.9 closely.
// In two bursts they do not bound it.
func TestABurstIsOneEvent(t *testing.T) {
	const trials, packets, slow = 12, 5000, 120
	for _, c := range []struct {
		name    string
		slow    func(trial, packet int) bool
		bounded bool
	}{
		{"one by one", func(_, packet int) bool { return packet%(trials*packets/slow) == 7 }, true},
		{"in two bursts", func(trial, packet int) bool { return trial%6 == 2 && packet < slow/2 }, false},
	} {
		w := newWindow()
		for i := range trials {
			trial := Trial{Tier: "veth", Load: load, At: noon, Verdict: result.Clean, Latency: result.NewHistogram()}
			var blocks []*result.Packed
			for packet, block := 0, result.NewHistogram(); packet < packets; packet++ {
				ns := int64(20_000 + packet)
				if c.slow(i, packet) {
					ns = int64(1_000_000 + 1000*packet)
				}
				trial.Latency.Record(ns)
				if block.Record(ns); block.Count() == packets/100 {
					blocks = append(blocks, block.Packed())
					block = result.NewHistogram()
				}
			}
			trial.Blocks = confidence.TrialBlocks(blocks)
			w.Add(trial)
		}
		f := figures(t, w, noon)["veth"]
		for _, p := range f.Percentiles {
			if p.P == "99.9" && (p.ValueNs < 1_000_000 || (p.UpperNs != nil) != c.bounded) {
				t.Errorf("%s: p99.9 is %d ns, at most %v", c.name, p.ValueNs, p.UpperNs)
			}
			if p.P == "50" && (p.UpperNs == nil || *p.UpperNs > 25_000) {
				t.Errorf("%s: p50 is %d ns, at most %v", c.name, p.ValueNs, p.UpperNs)
			}
		}
	}
}

// TestWithoutBlocksNothingIsBounded: not even by the other trials, as the packets of one are nowhere in time.
func TestWithoutBlocksNothingIsBounded(t *testing.T) {
	w := newWindow()
	short := trialOf("veth", noon, 1000, result.Clean)
	short.Blocks = confidence.Blocks{}
	w.Add(short)
	w.Add(trialOf("veth", noon, 1000, result.Clean))
	if f := figures(t, w, noon)["veth"]; f.Count != 2000 || len(percentiles(f)) != 0 || f.Spread != nil {
		t.Errorf("%+v", f)
	}
}
