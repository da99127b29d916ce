package result

import (
	"math/rand"
	"strings"
	"testing"
	"time"
)

var testStart = time.Date(2026, 11, 20, 18, 30, 5, 123e6, time.UTC)

// record is a simulated trial for the tests: packets with a lognormal latency from a fixed seed.
func record(seed int64, packets int) Record {
	r := Record{
		Trial: Trial{Variables: map[string]any{"links.*.kind": "veth", "traffic.rate_pps": 1000.0}, Repeat: 1,
			OfferedPPS: 1000, TxPackets: uint64(packets) + 2, RxPackets: uint64(packets), LostPackets: 2,
			Verdict: Noisy, Reasons: []string{"steal: 12 ms of 1 s"}},
		Details: Details{Role: "loop", IntendedPPS: 1000, DurationNs: 1e9, StartedUnixNs: testStart.UnixNano(),
			Gaps: []GapMeter{{Thread: "loop", CPU: 1, ThresholdNs: 500, Count: 1, TotalNs: 900, MaxNs: 900,
				Worst: []Gap{{AtNs: 5, LengthNs: 900}}}}},
		Histograms: Histograms{Latency: NewHistogram(), FromTx: NewHistogram(), SendLag: NewHistogram()},
		Rates:      []Rate{{Second: 0, Offered: 1000, Sent: uint64(packets) + 2, Received: uint64(packets)}},
		EngineLog:  []byte("engine: done\n"),
	}
	random := rand.New(rand.NewSource(seed))
	for i, latency := range lognormal(seed, packets) {
		lag := int64(random.Intn(300))
		r.Histograms.Latency.Record(latency + lag)
		r.Histograms.FromTx.Record(latency)
		r.Histograms.SendLag.Record(lag)
		if i < 20 {
			r.Outliers = append(r.Outliers, Outlier{ID: uint32(i), Stream: 1, LatencyNs: latency + lag, FromTxNs: latency,
				SendLagNs: lag, IntendedNs: int64(i) * 1e6, TxNs: int64(i)*1e6 + lag, RxNs: int64(i)*1e6 + lag + latency,
				PollGapNs: 80, TxCPU: 1, RxCPU: -1, Cause: `timer, "local"`})
		}
	}
	return r
}

func TestRecordsThatBreakAnInvariantAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Record)
		want   string
	}{
		"sent is not received and lost": {func(r *Record) { r.Trial.LostPackets++ }, "do not add up"},
		"no verdict":                    {func(r *Record) { r.Trial.Verdict = "" }, "unknown verdict"},
		"noisy without a reason":        {func(r *Record) { r.Trial.Reasons = nil }, "has no reason"},
		"repeat from 0":                 {func(r *Record) { r.Trial.Repeat = 0 }, "counted from 1"},
		"a histogram is missing":        {func(r *Record) { r.Histograms.SendLag = nil }, "send_lag is missing"},
		"metrics of another stream": {func(r *Record) { r.Metrics = &Metrics{All: FlowMetrics{Sent: 102, Received: 99}} },
			"the metrics are of 102 and 99"},
		"a packet was not recorded": {func(r *Record) { r.Histograms.Latency.Record(5) }, "the latency of 101"},
	} {
		w, err := Create(t.TempDir(), "x", testStart)
		if err != nil {
			t.Fatal(err)
		}
		r := record(1, 100)
		test.change(&r)
		if _, err := w.AddTrial(r); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if got, err := Open(w.Dir()); err != nil || len(got.Summary.Trials) != 0 {
			t.Errorf("%s: the folder holds %v, %v", name, got, err)
		}
	}
}

func TestFolderNames(t *testing.T) {
	for name, want := range map[string]string{
		"quickstart": "quickstart", "a/b c": "a-b-c", "../../etc": "etc", "": "unnamed", "...": "unnamed",
		"latest": "latest_", "größe": "gr--e", strings.Repeat("x", 300): strings.Repeat("x", 100), ".hidden": "hidden",
	} {
		if got := folderName(name); got != want {
			t.Errorf("folderName(%q) = %q, want %q", name, got, want)
		}
	}
}
