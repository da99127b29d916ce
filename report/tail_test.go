package report

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/analysis/extreme"
	"nines.dev/nines/result"
)

// tailTrial is a trial of packets 10 µs apart, with the slowest 1,000 kept; with a record of each, and in time blocks, if
// wanted.
func tailTrial(kind string, repeat int, latencies []int64, record, blocked bool) result.Record {
	r := result.Record{Trial: result.Trial{Variables: map[string]any{"links.*.kind": kind}, Repeat: repeat, OfferedPPS: 100_000,
		TxPackets: uint64(len(latencies)), RxPackets: uint64(len(latencies)), Verdict: result.Clean}}
	h := result.Histograms{Latency: result.NewHistogram(), FromTx: result.NewHistogram(), SendLag: result.NewHistogram()}
	var packets []result.Packet
	blocks := make([]*result.Histogram, 100)
	for i := range blocks {
		blocks[i] = result.NewHistogram()
	}
	for i, ns := range latencies {
		h.Latency.Record(ns)
		blocks[i*len(blocks)/len(latencies)].Record(ns)
		at := int64(i) * 10_000
		r.Outliers = append(r.Outliers, result.Outlier{ID: uint32(i), LatencyNs: ns, IntendedNs: at})
		rx := at + ns
		packets = append(packets, result.Packet{ID: uint32(i), IntendedNs: at, TxNs: at, RxNs: &rx, LatencyNs: &latencies[i]})
	}
	sort.Slice(r.Outliers, func(i, j int) bool { return r.Outliers[i].LatencyNs > r.Outliers[j].LatencyNs })
	r.Outliers = r.Outliers[:min(len(r.Outliers), 1000)]
	r.Histograms = h
	if blocked {
		r.Blocks = &result.Blocks{Length: time.Duration(len(latencies)/len(blocks)) * 10 * time.Microsecond}
		for _, block := range blocks {
			r.Blocks.Counts = append(r.Blocks.Counts, block.Packed())
		}
	}
	r.Details.DurationNs = int64(len(latencies)) * 10_000
	if record {
		r.Packets = &result.Packets{Complete: true, Batches: func(write func([]result.Packet) error) error { return write(packets) }}
	}
	return r
}

// tailResult has a kind with a plain exponential tail in two repeats, one with the slowest packets
// from five pauses, and one with every packet recorded.
func tailResult(t *testing.T) *result.Result {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	plain := func(n int) []int64 {
		latencies := make([]int64, n)
		for i := range latencies {
			latencies[i] = 5_000 + int64(math.Round(2_000*random.ExpFloat64()))
		}
		return latencies
	}
	paused := plain(200_000)
	for i := range paused {
		if into := i % 40_000; into < 100 {
			paused[i] += 1_000_000 - int64(into)*10_000
		}
	}
	return resultOf(t,
		tailTrial("plain", 1, plain(200_000), false, true), tailTrial("plain", 2, plain(200_000), false, true),
		tailTrial("paused", 1, paused, false, true), tailTrial("recorded", 1, plain(200_000), true, true),
		tailTrial("short", 1, plain(500), false, false))
}

func TestTailsAnswerOrRefuse(t *testing.T) {
	r := tailResult(t)
	tails, problems := Tails(context.Background(), r, 0.999999)
	if len(problems) > 0 || len(tails) != 4 {
		t.Fatalf("%d tails, problems %v", len(tails), problems)
	}
	// 5 µs + 2 µs · ln 10⁶.
	truth := 5000 + 2000*math.Log(1e6)
	plain, paused, recorded, short := tails[0], tails[1], tails[2], tails[3]
	for _, answered := range []GroupTail{plain, recorded} {
		if e := answered.Estimate; e == nil || truth < e.Low || truth > e.High {
			t.Errorf("%v: %+v, refused %q; the truth is %.0f", answered.Variables, e, answered.Refused, truth)
		}
	}
	if plain.Total != 400_000 || strings.Join(plain.Trials, ",") != "0001,0002" || plain.Estimate.Beyond < 2.49 || plain.Estimate.Beyond > 2.51 {
		t.Errorf("two repeats are not one sample: %+v", plain)
	}
	if paused.Estimate != nil || len(paused.Refused) == 0 {
		t.Errorf("five pauses: %+v", paused)
	}
	if short.Estimate != nil || !strings.Contains(short.Refused[0], "1 million packets") {
		t.Errorf("500 packets: %+v, %q", short.Estimate, short.Refused)
	}
	if short.Largest == nil || short.Largest.P != 0.99 || short.Largest.Low != nil || !strings.Contains(short.Largest.NoInterval, "trial 0005 has no time blocks") {
		t.Errorf("500 packets support %+v", short.Largest)
	}
	// p99.999 of 400,000 packets has four beyond it, and of 200,000 two.
	if d := plain.Largest; d == nil || d.P != 0.99999 || d.Low == nil || d.High == nil || d.Clusters < 3.7 || d.Clusters > 4 {
		t.Errorf("the largest percentile of 400,000 packets is %+v", d)
	}
	if d := paused.Largest; d == nil || !d.Open || d.Low == nil || d.Clusters > 1 {
		t.Errorf("the largest percentile of five pauses is %+v", d)
	}

	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if none, problems := Tails(cancelled, r, 0.999999); len(problems) > 0 || none[0].Estimate != nil || len(none[0].Trials) > 0 {
		t.Errorf("after Ctrl-C: %+v, problems %v", none[0], problems)
	}

	var out strings.Builder
	if err := WriteTails(&out, tails); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"What is the 99.9999th percentile?", "p99.999 ", "extrapolated ×2.50", "refused  kind=short: this percentile needs", ", open]", "no interval  kind=short: trial 0005 has no time blocks"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the table lacks %q:\n%s", line, out.String())
		}
	}

	page := newPageData(r, nil)
	if len(page.Tails) != 4 || page.Tails[0].P != extreme.Default || page.Tails[0].Ladder != nil || len(page.Problems) > 0 {
		t.Errorf("the page has %d tails, problems %q", len(page.Tails), page.Problems)
	}

	var document strings.Builder
	if err := WriteTableJSON(&document, r.Summary, nil, tails, nil); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Tails []struct {
			Variables map[string]any
			P         float64
			Estimate  *struct{ Value, Low, High float64 }
			Refused   []string
		}
	}
	if err := json.Unmarshal([]byte(document.String()), &read); err != nil {
		t.Fatal(err)
	}
	if len(read.Tails) != 4 || read.Tails[0].Estimate == nil || read.Tails[0].Estimate.High != plain.Estimate.High || read.Tails[0].P != 0.999999 || len(read.Tails[1].Refused) == 0 {
		t.Errorf("JSON has %+v", read.Tails)
	}
}

// For a long measurement, a recording gives more exceedances than the outliers.
func TestRecordingsGiveMoreOfTheTail(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	latencies := make([]int64, 3_000_000)
	for i := range latencies {
		latencies[i] = 5_000 + int64(2_000*random.ExpFloat64())
	}
	r := resultOf(t, tailTrial("plain", 1, latencies, true, false))
	sample, err := sampleOf(context.Background(), r.Summary.Trials[0], r.TrialFolder("0001"))
	if err != nil {
		t.Fatal(err)
	}
	// p99.95 of the first 600,000: about 1,500 of all exceed it.
	if len(sample.Points) < 1200 || len(sample.Points) > 1800 || sample.Total != 3_000_000 {
		t.Errorf("%d exceedances of %d", len(sample.Points), sample.Total)
	}
}

func TestAnswers(t *testing.T) {
	value := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		tail      extreme.Tail
		value, by string
	}{
		{extreme.Tail{Asked: &extreme.Direct{Value: 8000, Low: value(7000), High: value(9000)}}, "8.00 [7.00, 9.00]", "measured"},
		{extreme.Tail{Asked: &extreme.Direct{Value: 8000, NoInterval: "why"}}, "8.00 [-]", "measured"},
		{extreme.Tail{Asked: &extreme.Direct{Value: 8000, Low: value(7000), Open: true}}, "8.00 [7.00, open]", "measured"},
		{extreme.Tail{Asked: &extreme.Direct{Value: 8000, Low: value(7000), Open: true},
			Estimate: &extreme.Estimate{Value: 8500, Interval: extreme.Interval{Low: 8100, High: 9100}, Beyond: 0.5}}, "8.50 [8.10, 9.10]", "extrapolated"},
		{extreme.Tail{Refused: []string{"why"}}, "-", "refused"},
	} {
		got, by := answerText(GroupTail{Tail: c.tail})
		if got != c.value || by.Text != c.by {
			t.Errorf("%+v: %q by %q, want %q by %q", c.tail, got, by.Text, c.value, c.by)
		}
	}
	for p, name := range map[float64]string{0.9999999: "p99.99999", 0.5: "p50", 0.999: "p99.9", 1 - 1e-10: "p99.99999999"} {
		if got := PercentileName(p); got != name {
			t.Errorf("%v is called %s, want %s", p, got, name)
		}
	}
}
