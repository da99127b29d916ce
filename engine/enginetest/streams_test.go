package enginetest

import (
	"fmt"
	"maps"
	"testing"

	"nines.dev/nines/engine/client"
)

// checkStreams checks that every packet of each stream arrived as one of it, and that the trial's figures are
// their sums.
func checkStreams(t *testing.T, trial client.Trial, r client.TrialResult) {
	t.Helper()
	if len(r.Streams) != len(trial.Streams) {
		t.Fatalf("%d streams, want %d", len(r.Streams), len(trial.Streams))
	}
	for i, s := range r.Streams {
		if s.Name != trial.Streams[i].Name || s.TxPackets == 0 || s.RxPackets != s.TxPackets {
			t.Errorf("stream %q received %d of %d sent, want all of %q", s.Name, s.RxPackets, s.TxPackets, trial.Streams[i].Name)
		}
		if want := uint64(trial.Streams[i].RatePPS * float64(trial.DurationNs) / 1e9); s.IntendedPackets != want {
			t.Errorf("stream %s: %d packets are intended, want %d", s.Name, s.IntendedPackets, want)
		}
		if s.Latency.Count != s.RxPackets {
			t.Errorf("stream %s: the histogram holds %d of %d", s.Name, s.Latency.Count, s.RxPackets)
		}
		if s.DuplicatePackets+s.ReorderedPackets+s.LatePackets+s.TxFailed != 0 {
			t.Errorf("stream %s: %+v", s.Name, s.Counts)
		}
	}
	for name, h := range map[string]client.Histogram{"latency": r.Latency, "from_tx": r.FromTx, "send_lag": r.SendLag} {
		if h.Count != r.RxPackets {
			t.Errorf("%s holds %d, want %d", name, h.Count, r.RxPackets)
		}
	}
	if r.InvalidPackets != 0 {
		t.Errorf("%d invalid packets", r.InvalidPackets)
	}
	arrived, seen := map[string]uint64{}, map[string]uint64{}
	for i, s := range r.Streams {
		arrived[trial.Streams[i].Rx] += s.RxPackets
	}
	if r.Seen == nil {
		t.Fatalf("nobody saw which way packets came: %q", r.Notes)
	}
	for _, w := range r.Seen.Ways {
		seen[w.Port] += w.Packets
	}
	if r.Seen.Others != 0 || !maps.Equal(arrived, seen) {
		t.Errorf("seen %v and %d others, want %v", seen, r.Seen.Others, arrived)
	}
	for _, row := range r.Outliers {
		if row[1] < 0 || row[1] >= int64(len(r.Streams)) {
			t.Errorf("an outlier of stream %d", row[1])
		}
	}
}

// TestStreamsOverALink: two streams from one port to another, and one back, whatever the backend and however the
// thread waits.
func TestStreamsOverALink(t *testing.T) {
	for _, backend := range []string{"udp", "raw", "ring", "xdp"} {
		for _, wait := range []string{"block", "spin", "busy_poll"} {
			v := variant{backend: backend, io: "batch", wait: wait, frameBytes: 128}
			t.Run(fmt.Sprint(v), func(t *testing.T) {
				t.Parallel()
				n := direct(t, 1500)
				neighbour(t, n.generator, "rx", "tx")
				engine := startEngine(t, n.generator)
				open(t, engine, v.port("rx", "tx"))
				open(t, engine, v.port("tx", "rx"))
				trial := v.trial("tx", "rx")
				trial.Streams = []client.Stream{
					{Name: "steady", Tx: "tx", Rx: "rx", RatePPS: 1200, Burst: 1, Seed: 1},
					{Name: "bursts", Tx: "tx", Rx: "rx", RatePPS: 800, Burst: 8, Seed: 2},
					{Name: "back", Tx: "rx", Rx: "tx", RatePPS: 400, Burst: 1, Seed: 3},
				}
				checkStreams(t, trial, sent(t, engine, trial))
			})
		}
	}
}

// TestStreamsOfAPair: a generator and a sink on their own, with the streams in the same order.
func TestStreamsOfAPair(t *testing.T) {
	t.Parallel()
	n := direct(t, 1500)
	v := variant{backend: "raw", io: "single", wait: "block", frameBytes: 64}
	generator, sink := startEngine(t, n.generator), startEngine(t, n.generator)
	open(t, sink, v.port("rx", ""))
	open(t, generator, v.port("tx", "rx"))
	trial := func(role, tx, rx string) client.Trial {
		trial := slowTrial(role, tx, rx)
		trial.Streams = append(trial.Streams, client.Stream{Tx: tx, Rx: rx, RatePPS: 50, Burst: 1, Seed: 4})
		return trial
	}
	startNs, done := begin(t, sink, trial("sink", "", "rx"))
	sending := trial("generate", "tx", "")
	sending.StartNs = startNs + 1e9
	left, err := generator.Trial(sending, client.Events{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.End(left.TxPackets); err != nil {
		t.Fatal(err)
	}
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	for i, s := range got.Streams {
		if want := left.Streams[i]; s.Name != want.Name || want.TxPackets == 0 || s.RxPackets != want.TxPackets {
			t.Errorf("stream %s: %d arrived of %d of stream %s", s.Name, s.RxPackets, want.TxPackets, want.Name)
		}
	}
}
