package measure

import (
	"strings"
	"testing"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// TestARecordHasTheStreamsOfATrial: two streams in one engine, over a port that loses packets, written and read again.
func TestARecordHasTheStreamsOfATrial(t *testing.T) {
	engine := labtest.StartEngine(t, "")
	if _, err := engine.Hello(); err != nil {
		t.Fatal(err)
	}
	for port, drop := range map[string]float64{"whole": 0, "lossy": 0.2} {
		if _, err := engine.Open(client.Port{Name: port, Backend: "fault", Interface: "loop-" + port, Wait: "spin",
			Fault: &client.Fault{Drop: drop, Seed: 5}}); err != nil {
			t.Fatal(err)
		}
	}
	stream := spec.Traffic{RatePPS: 15_000, Duration: spec.Duration(300 * time.Millisecond), FrameBytes: 64}
	r, err := engine.Trial(client.Trial{Role: "loop", CPU: -1, DurationNs: int64(stream.Duration), DrainNs: 50e6, Outliers: 10,
		Streams: []client.Stream{{Name: "up", Tx: "whole", Rx: "whole", RatePPS: 10_000}, {Name: "down", Tx: "lossy", Rx: "lossy", RatePPS: 5_000}},
	}, client.Events{})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := RecordLoop(r, stream)
	if err != nil {
		t.Fatal(err)
	}
	rec.Trial.Repeat = 1
	w, err := result.Create(t.TempDir(), "streams", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.AddTrial(rec); err != nil {
		t.Fatal(err)
	}
	got, err := result.Open(w.Dir())
	if err != nil || len(got.Problems) > 0 {
		t.Fatal(err, got.Problems)
	}
	trial := got.Summary.Trials[0]
	if len(trial.Streams) != 2 {
		t.Fatalf("streams %+v", trial.Streams)
	}
	for i, s := range trial.Streams {
		want := r.Streams[i]
		if s.Name != want.Name || s.TxPackets != want.TxPackets || s.RxPackets != want.RxPackets {
			t.Errorf("%+v, want %+v", s, want)
		}
		h, err := got.TrialFolder(trial.ID).StreamLatency(s.Name)
		if err != nil || h.Count() != s.RxPackets || h.Percentiles().Max == nil || *h.Percentiles().Max != want.Latency.Max {
			t.Errorf("stream %s: %+v, %v", s.Name, h, err)
		}
	}
	if up, down := trial.Streams[0], trial.Streams[1]; up.LostPackets != 0 || down.TxPackets > 100 && down.LostPackets == 0 {
		t.Errorf("lost %d and %d packets: the second port loses a fifth", up.LostPackets, down.LostPackets)
	}
}

func TestStreamsThatDoNotMatchAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(tx, rx *client.TrialResult)
		want   string
	}{
		"another number": {func(_, rx *client.TrialResult) { rx.Streams = rx.Streams[:1] }, "1 streams, and the generator 2"},
		"another order":  {func(_, rx *client.TrialResult) { rx.Streams[0].Name = "b" }, "of stream b"},
		"too many":       {func(_, rx *client.TrialResult) { rx.Streams[1].RxPackets = 9 }, "counted 9 packets"},
	} {
		o := pairObservation()
		o.outcome.Tx.Streams = []client.StreamResult{{Name: "a"}, {Name: "b", Counts: client.Counts{TxPackets: 5}}}
		o.outcome.Rx.Streams = []client.StreamResult{{Name: "a"}, {Name: "b", Counts: client.Counts{RxPackets: 5}, Latency: samples(5)}}
		c.change(&o.outcome.Tx, &o.outcome.Rx)
		if _, err := record(o, nil, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
