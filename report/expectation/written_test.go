package expectation

import (
	"testing"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/expect"
	"nines.dev/nines/result"
)

// writer writes a result whose trials have files, and reads it.
type writer struct {
	t *testing.T
	*result.Writer
}

func write(t *testing.T) writer {
	t.Helper()
	w, err := result.Create(t.TempDir(), "written", time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return writer{t, w}
}

// trial adds a trial of so many seconds, in which a packet arrives in each of them.
func (w writer) trial(variables map[string]any, seconds int, change func(*result.Record)) result.Trial {
	w.t.Helper()
	r := result.Record{
		Trial:      result.Trial{Repeat: 1, Variables: variables, OfferedPPS: 1, TxPackets: 1, RxPackets: 1, Verdict: result.Clean},
		Details:    result.Details{DurationNs: int64(seconds) * int64(time.Second)},
		Histograms: result.Histograms{Latency: result.NewHistogram(), FromTx: result.NewHistogram(), SendLag: result.NewHistogram()},
	}
	for _, h := range []*result.Histogram{r.Histograms.Latency, r.Histograms.FromTx, r.Histograms.SendLag} {
		h.Record(1000)
	}
	change(&r)
	trial, err := w.AddTrial(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return trial
}

func (w writer) judge(texts ...string) (Judgements, error) {
	w.t.Helper()
	r, err := result.Open(w.Dir())
	if err != nil || len(r.Problems) > 0 {
		w.t.Fatal(err, r.Problems)
	}
	return Judge(Options{Result: r, Asked: asked(w.t, texts...)})
}

func (w writer) decides(want string, texts ...string) Judgements {
	w.t.Helper()
	j, err := w.judge(texts...)
	if got := decisions(j); err != nil || got != want {
		w.t.Errorf("%s, %v; want %s", got, err, want)
		for _, one := range j.List {
			for _, c := range one.Cases {
				w.t.Log(one.Text, c.line(one.Expectation))
			}
		}
	}
	return j
}

// rates are the packets received in each second, and as many sent.
func rates(received ...uint64) (list []result.Rate) {
	for i, n := range received {
		list = append(list, result.Rate{Second: i, Offered: n, Sent: n, Received: n})
	}
	return list
}

// TestVariation: the first second and those that the traffic ended in do not count; what is noisy or short is undecided.
func TestVariation(t *testing.T) {
	w := write(t)
	kind := func(name string) map[string]any { return map[string]any{"kind": name} }
	steady := rates(500, 1000, 1010, 990, 1005, 995, 1000, 1010, 990, 1000, 1000, 1002, 20)
	for name, r := range map[string][]result.Rate{"steady": steady, "equal": rates(0, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000),
		"uneven": rates(1000, 1000, 2000, 1000, 2000, 1000, 2000, 1000, 2000, 1000, 2000, 1000)} {
		w.trial(kind(name), 12, func(of *result.Record) { of.Rates = r })
	}
	w.trial(kind("short"), 10, func(of *result.Record) { of.Rates = steady })
	w.trial(kind("noisy"), 12, func(of *result.Record) {
		of.Rates, of.Trial.Verdict, of.Trial.Reasons = steady, result.Noisy, []string{"it was disturbed"}
	})
	j := w.decides("holds violated undecided holds holds violated undecided undecided",
		"received.variation < 2.5% where kind=steady", "received.variation < 0.1% where kind=steady", "received.variation < 0.7% where kind=steady",
		"received.variation < 0.2% where kind=equal", "received.variation > 10% where kind=uneven", "received.variation < 2.5% where kind=uneven",
		"received.variation < 2.5% where kind=short", "received.variation < 2.5% where kind=noisy")
	if s := j.List[6].Cases[0].Because; s != "trial 0004 has 9 whole seconds beside the first, and fewer than 10 do not tell how a rate varies from one to the next: set traffic.duration to 11s or more" {
		t.Error(s)
	}
}

// TestIntervals: an even stream that arrives in pairs, and one without recorded packets.
func TestIntervals(t *testing.T) {
	w := write(t)
	var rows []result.Packet
	for i := range int64(20_000) {
		arrives := (i+1)/2*2*10_000 + i%2*2_000
		rows = append(rows, result.Packet{ID: uint32(i), IntendedNs: i * 10_000, TxNs: i * 10_000, RxNs: &arrives, LatencyNs: new(int64)})
	}
	w.trial(map[string]any{"kind": "pairs"}, 1, func(r *result.Record) {
		r.Trial.TxPackets, r.Trial.RxPackets = 20_000, 20_000
		for range 19_999 {
			r.Histograms.Latency.Record(1000)
			r.Histograms.FromTx.Record(1000)
			r.Histograms.SendLag.Record(1000)
		}
		r.Packets = &result.Packets{Complete: true, Batches: func(write func([]result.Packet) error) error { return write(rows) }}
	})
	w.trial(map[string]any{"kind": "untold"}, 1, func(*result.Record) {})
	w.decides("holds holds holds violated holds undecided",
		"sent.interval.p50 <= 10.1us where kind=pairs", "interval.p10 < 3us where kind=pairs", "interval.within(1us..3us) > 2 * sent.interval.within(1us..3us) where kind=pairs",
		"interval.within(1us..3us) < 10% where kind=pairs", "sent.interval.within(0..10.1us) > 90% where kind=pairs", "interval.p99.9999 < 1s where kind=pairs")
	if _, err := w.judge("interval.p50 < 1us"); exit.Code(err) != exit.Wrong || err.Error() != "interval.p50: trial 0002 did not record when its packets came: measure with 'traffic: {packets: record}'" {
		t.Error(err)
	}
}

// TestSearches: what a search found lies between its last bounds, of which the upper one holds only if a clean trial lost.
func TestSearches(t *testing.T) {
	w := write(t)
	add := func(kind string, verdict result.Verdict, found, high float64, change func(*result.Finding)) {
		trial := w.trial(map[string]any{"kind": kind}, 1, func(r *result.Record) {
			r.Trial.Search, r.Trial.Purpose, r.Trial.Verdict = w.SearchID(), "search", verdict
			if verdict != result.Clean {
				r.Trial.Reasons = []string{"it was disturbed"}
			}
		})
		low := found
		f := result.Finding{Name: "throughput", Unit: "packets/s", Value: &found, Low: &low, High: &high}
		change(&f)
		if _, err := w.AddSearch(result.Search{Variables: map[string]any{"kind": kind}, Repeat: 1, Method: "rfc2544", Conformant: true, Findings: []result.Finding{f},
			Trials: []result.SearchTrial{{ID: trial.ID, Purpose: "search", RatePPS: high, LossRatio: 0.01}}}); err != nil {
			t.Fatal(err)
		}
	}
	as := func(*result.Finding) {}
	for range 6 {
		add("slow", result.Clean, 1e6, 1.01e6, as)
		add("fast", result.Clean, 2e6, 2.01e6, as)
	}
	add("noisy", result.Noisy, 1e6, 1.01e6, as)
	add("none", result.Clean, 1e6, 1e6, func(f *result.Finding) { f.Value, f.Low, f.Reason = nil, nil, "loss even at the lowest rate" })
	add("generator", result.Clean, 1e6, 1.01e6, func(f *result.Finding) { f.AtLeast = true })
	w.trial(map[string]any{"kind": "cut"}, 1, func(r *result.Record) { r.Trial.Search, r.Trial.Purpose = w.SearchID(), "search" })
	j := w.decides("holds violated undecided holds undecided undecided holds undecided holds violated",
		"throughput >= 1Mpps where kind=slow", "throughput >= 1.1Mpps where kind=slow", "throughput >= 1.005Mpps where kind=slow",
		"throughput >= 1Mpps where kind=noisy", "throughput >= 2Mpps where kind=noisy", "throughput >= 500kpps where kind=none", "throughput >= 1Mpps where kind=generator", "throughput < 2Mpps where kind=generator",
		"throughput(kind=fast) >= 1.5 * throughput(kind=slow)", "throughput(kind=fast) <= throughput(kind=slow)")
	if s := j.List[5].Cases[0].Because; s != "the search with trial 0014 found none: loss even at the lowest rate" {
		t.Error(s)
	}
	if j, err := w.judge("throughput > 100kpps"); err != nil || j.Decision != expect.Undecided || len(j.List[0].Cases) != 6 || j.List[0].Cases[5].Because != "its search did not end" {
		t.Errorf("%v, %+v", err, j.List)
	}
	if _, err := w.judge("ndr > 1Mpps"); exit.Code(err) != exit.Wrong {
		t.Error(err)
	}
}
