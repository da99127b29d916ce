package measure

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/measure/traffic"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// samples is a histogram with n samples of 1 ns, whose index is 1.
func samples(n uint64) client.Histogram {
	if n == 0 {
		return client.Histogram{}
	}
	return client.Histogram{Count: n, Min: 1, Max: 1, Sum: float64(n), Counts: [][2]int64{{1, int64(n)}}}
}

func pairObservation() observation {
	good := client.TSC{Constant: true, Nonstop: true}
	return observation{
		stream:  spec.Traffic{RatePPS: 100, FrameBytes: 64, Duration: spec.Duration(time.Second)},
		fromCPU: 0, toCPU: 1,
		outcome: traffic.Outcome{
			Started: time.Unix(1, 7),
			Tx: client.TrialResult{
				Counts: client.Counts{IntendedPackets: 100, TxPackets: 100}, MeasuredStartNs: 50, EndNs: 50 + 1e9,
				SendLag: samples(100), Spacing: samples(99), TSC: good, Runs: 5, RunDelayNs: 7, WaitedNs: 4,
				Rate: [][4]uint64{{0, 100, 100, 0}},
			},
			Rx: client.TrialResult{
				Counts: client.Counts{RxPackets: 98, DuplicatePackets: 1, ReorderedPackets: 2}, Runs: 6, RunDelayNs: 3, WaitedNs: 1,
				Latency: samples(98), FromTx: samples(98), TSC: good,
				Drops:    []client.Counter{{Name: "rx_ring_full", Count: 2}, {Name: "rx_error", Count: 0}},
				Rate:     [][4]uint64{{0, 0, 0, 97}, {1, 0, 0, 1}},
				Outliers: [][11]int64{{9, 0, 30, 20, 10, 100, 110, 130, 5, -1, 1}},
			},
		},
	}
}

func TestARecordHasTheErrorOfTwoClocks(t *testing.T) {
	o := pairObservation()
	o.outcome.Synchrony = &traffic.Synchrony{ErrorNs: 80_200, DriftNs: 7, Lost: "the clock of node b is not synchronised", Untold: "a"}
	r, err := record(o, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if want := (result.Clocks{ErrorNs: 80_200, DriftNs: 7, Lost: o.outcome.Synchrony.Lost, Untold: "a"}); r.Details.Clocks == nil || *r.Details.Clocks != want {
		t.Errorf("%+v", r.Details.Clocks)
	}
	if r.Trial.Verdict != result.Invalid || outcomeOf(r.Trial, r.Details, r.Histograms.Latency).ClockError != 80_200 {
		t.Errorf("%s", r.Trial.Verdict)
	}
}

func TestRecordOfAPair(t *testing.T) {
	r, err := record(pairObservation(), map[string]any{"traffic.rate_pps": 100}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if r.Trial.LostPackets != 2 || r.Trial.OfferedPPS != 100 || r.Trial.Repeat != 2 || r.Details.ReceivedPPS != 98 {
		t.Errorf("trial = %+v", r.Trial)
	}
	if r.Details.RunDelayNs != 10 || r.Details.Runs != 11 || r.Details.WaitedNs != 5 || len(r.Details.Gaps) != 2 || r.Details.StartedUnixNs != 1e9+7 {
		t.Errorf("details = %+v", r.Details)
	}
	wantDrops := []result.Counter{{Name: "sink rx_ring_full", Count: 2}}
	if diff := cmp.Diff(wantDrops, r.Details.Drops); diff != "" {
		t.Errorf("drops (-want +got):\n%s", diff)
	}
	wantRates := []result.Rate{{Second: 0, Offered: 100, Sent: 100, Received: 97}, {Second: 1, Received: 1}}
	if diff := cmp.Diff(wantRates, r.Rates); diff != "" {
		t.Errorf("rates (-want +got):\n%s", diff)
	}
	wantOutliers := []result.Outlier{{
		ID: 9, Stream: 1, LatencyNs: 30, FromTxNs: 20, SendLagNs: 10, IntendedNs: 100, TxNs: 110, RxNs: 130,
		PollGapNs: 5, TxCPU: 0, RxCPU: 1,
	}}
	if diff := cmp.Diff(wantOutliers, r.Outliers); diff != "" {
		t.Errorf("outliers (-want +got):\n%s", diff)
	}
}

func TestRecordOfAnInterruptedTrial(t *testing.T) {
	o := pairObservation()
	o.outcome.Tx.Interrupted = true
	o.outcome.Tx.EndNs = o.outcome.Tx.MeasuredStartNs + 5e8
	r, err := record(o, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r.Trial.Verdict != result.Invalid || !strings.Contains(r.Trial.Reasons[0], "interrupted after 500ms of 1s") {
		t.Errorf("verdict %s: %q", r.Trial.Verdict, r.Trial.Reasons)
	}
	if r.Trial.OfferedPPS != 200 {
		t.Errorf("offered %v a second; 100 packets in half a second are 200", r.Trial.OfferedPPS)
	}
}

func TestRecordOfATrialWithoutTimeOfDay(t *testing.T) {
	o := pairObservation()
	o.outcome.Started = time.Time{}
	if r, err := record(o, nil, 1); err != nil || r.Details.StartedUnixNs != 0 {
		t.Errorf("started at %d, %v", r.Details.StartedUnixNs, err)
	}
}

func TestRecordRefusesForeignPackets(t *testing.T) {
	o := pairObservation()
	o.outcome.Rx.RxPackets = 101
	if _, err := record(o, nil, 1); err == nil || !strings.Contains(err.Error(), "another stream") {
		t.Errorf("record = %v", err)
	}
}

func TestRecordRefusesALossyHistogram(t *testing.T) {
	o := pairObservation()
	o.outcome.Rx.Latency.Counts = nil
	if _, err := record(o, nil, 1); err == nil || !strings.Contains(err.Error(), "latency") {
		t.Errorf("record = %v", err)
	}
}
