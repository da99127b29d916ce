package export

import (
	"errors"
	"testing"
	"time"

	"nines.dev/nines/result"
)

var started = time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC)

// fixture is a result of four trials: two repeats of two combinations. The last trial belongs to a
// search. Packet i of trial n took (n·5000 + i) ns. The first two trials have three time blocks each.
func fixture(t testing.TB) *result.Result {
	t.Helper()
	w, err := result.Create(t.TempDir(), "exported", started)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.WriteExperiment([]byte("name: exported\n"), ""), w.WriteHost(map[string]any{"hostname": "lab1"}), w.WritePlan([]int{1})); err != nil {
		t.Fatal(err)
	}
	var last result.Trial
	for n := range 4 {
		r := result.Record{
			Trial: result.Trial{Repeat: 1 + n/2, OfferedPPS: 1000.5, TxPackets: packets + 2, RxPackets: packets, LostPackets: 2, Verdict: result.Clean,
				Variables: map[string]any{"links.*.kind": []string{"veth", "bridge, \"quoted\""}[n%2], "traffic.rate_pps": 1000 * (n%2 + 1),
					"traffic.load": []any{0.5, 1}[n%2], "traffic.on": n%2 == 0, "verdict": "a key of ours", "mixed": []any{1, "x"}[n%2]}},
			Details: result.Details{Role: "loop", DurationNs: 1_500_000_000, StartedUnixNs: started.Add(time.Duration(n)*time.Minute).UnixNano() + 123_456_789,
				Gaps: []result.GapMeter{{MaxNs: 7, TotalNs: 8, Count: 1}, {MaxNs: 9, TotalNs: 10, Count: 2}}, Drops: []result.Counter{{Name: "a", Count: 3}, {Name: "b", Count: 4}}},
			Histograms: result.Histograms{Latency: result.NewHistogram(), FromTx: result.NewHistogram(), SendLag: result.NewHistogram()},
			Outliers:   []result.Outlier{{ID: 7, LatencyNs: 99, TxCPU: -1, RxCPU: 1, Cause: "timer"}},
			Rates:      []result.Rate{{Second: 0, Offered: packets, Sent: packets, Received: packets}},
		}
		if n == 3 {
			r.Trial.Search, r.Trial.Purpose = w.SearchID(), "latency at 50 %"
			r.Trial.Verdict, r.Trial.Reasons = result.Noisy, []string{"steal", "a line\nbroken"}
		}
		for i := range packets {
			r.Histograms.Latency.Record(latencyOf(n, i))
			r.Histograms.FromTx.Record(int64(i))
			r.Histograms.SendLag.Record(0)
		}
		if n < 2 {
			r.Blocks = &result.Blocks{Length: 500 * time.Millisecond, Counts: blocksOf(n)}
		}
		if last, err = w.AddTrial(r); err != nil {
			t.Fatal(err)
		}
	}
	value := 812_000.0
	if _, err := w.AddSearch(result.Search{Repeat: 1, Method: "mlrsearch", Conformant: true, Findings: []result.Finding{{Name: "NDR", Unit: "packets/s", Value: &value}},
		Trials: []result.SearchTrial{{ID: last.ID, Purpose: last.Purpose, RatePPS: 406_000}}}); err != nil {
		t.Fatal(err)
	}
	r, err := result.Open(w.Dir())
	if err != nil || len(r.Problems) > 0 {
		t.Fatalf("%v, %q", err, r.Problems)
	}
	return r
}

const packets = 1000

// blocksOf has half of a trial's packets in the first block, none in the second, and the rest in the third.
func blocksOf(n int) []*result.Packed {
	var blocks []*result.Packed
	for _, places := range [][2]int{{0, packets / 2}, {0, 0}, {packets / 2, packets}} {
		h := result.NewHistogram()
		for i := places[0]; i < places[1]; i++ {
			h.Record(latencyOf(n, i))
		}
		blocks = append(blocks, h.Packed())
	}
	return blocks
}

func latencyOf(n, i int) int64 { return int64((n+1)*5000 + i) }

func table(t *testing.T, r *result.Result) *Table {
	t.Helper()
	table, problems := NewTable(r, r.Summary.Trials, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return table
}
