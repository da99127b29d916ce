package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"nines.dev/nines/measure/capture/packetfile"
	"nines.dev/nines/result"
)

// TestALabMeasuredBothWays measures the packets of one trial by the engine and by a pair
// of captures at once.
//
//	loadgen:tx ──in── dut:in ▸ forward ▸ dut:out ──out── loadgen:rx
//	 engine            pre                                post, engine
//
// The engine stamps a packet before its send, the kernel when it has come to dut:in; the
// kernel stamps it when it has come to loadgen:rx, the engine after its receive. So no
// packet's latency is larger by the captures than by the engine.
func TestALabMeasuredBothWays(t *testing.T) {
	s := newShell(t)
	example, err := filepath.Abs("../../examples/both-ways.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pre, post, out := filepath.Join(s.dir, "pre.pcap"), filepath.Join(s.dir, "post.pcap"), filepath.Join(s.dir, "results")
	capture := s.start("capture", "dut:in", "loadgen:rx", "--lab", "both-ways", "-w", pre, "-w", post, "--wait", "1m")
	code, said := s.call("run", example, "--out", out, "--set", "traffic.duration=2s", "--set", "traffic.drain=10s")
	if code != 0 {
		t.Fatalf("nines run: exit code %d: %s", code, said)
	}
	select {
	case <-capture.ended:
	case <-time.After(time.Minute):
		t.Fatal("the capture outlives the lab")
	}
	if !capture.ProcessState.Success() {
		t.Fatalf("nines capture: %v: %s", capture.ProcessState, capture.said.String())
	}
	folder, err := result.Open(filepath.Join(out, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	trial := folder.Summary.Trials[0]
	agree(t, pre, post, trial)

	// The same by nines analyze, which has the warm-up as well: two packets or so.
	code, said = s.call("analyze", pre, post, "--key", "nines", "--format", "json")
	var evaluated struct {
		Counts struct {
			Pairs uint64 `json:"pairs"`
			Lost  uint64 `json:"lost_packets"`
		} `json:"counts"`
		Clocks struct {
			Negative uint64 `json:"negative_packets"`
		} `json:"clocks"`
	}
	if err := json.Unmarshal([]byte(said), &evaluated); err != nil || code != 0 {
		t.Fatalf("nines analyze: exit code %d: %v: %s", code, err, said)
	}
	found := evaluated.Counts
	if warm := found.Pairs - trial.RxPackets; warm < 1 || warm > 20 || found.Lost != trial.LostPackets || evaluated.Clocks.Negative != 0 {
		t.Errorf("analyze finds %+v; the engine %d received, %d lost", evaluated, trial.RxPackets, trial.LostPackets)
	}
}

// agree holds the captures to the engine's counts and latencies.
func agree(t *testing.T, pre, post string, trial result.Trial) {
	t.Helper()
	sent, received := measured(t, pre), measured(t, post)
	if uint64(len(sent)) != trial.TxPackets || uint64(len(received)) != trial.RxPackets {
		t.Fatalf("captured %d and %d packets, the engine sent %d and received %d", len(sent), len(received), trial.TxPackets, trial.RxPackets)
	}
	latencies := make([]int64, 0, len(received))
	for id, at := range received {
		from, ok := sent[id]
		if !ok {
			t.Fatalf("packet %d arrived, but did not leave", id)
		}
		latencies = append(latencies, at-from)
	}
	slices.Sort(latencies)
	if latencies[0] <= 0 {
		t.Errorf("a latency of %d ns", latencies[0])
	}
	// What is so of every packet is so of every percentile.
	for p, engine := range map[float64]*int64{
		0: trial.FromTx.Min, 0.5: trial.FromTx.P50, 0.9: trial.FromTx.P90, 0.99: trial.FromTx.P99, 0.999: trial.FromTx.P999, 1: trial.FromTx.Max,
	} {
		captured := latencies[max(0, int(math.Ceil(p*float64(len(latencies))))-1)]
		if engine == nil || captured > *engine {
			t.Errorf("p%v: %d ns by the captures, %v by the engine, which has to be more", 100*p, captured, engine)
			continue
		}
		t.Logf("p%v: %d ns by the captures, %d ns by the engine", 100*p, captured, *engine)
	}
}

// measured are the times of a trial's packets by their ids: those of stream 1, behind
// Ethernet, IP and UDP (docs/measuring.md).
func measured(t *testing.T, path string) map[uint32]int64 {
	t.Helper()
	r, err := packetfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	times := map[uint32]int64{}
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Data) < 60 || p.Data[46] != 0x55 || p.Data[47] != 1 {
			continue
		}
		id := binary.LittleEndian.Uint32(p.Data[42:])
		if _, again := times[id]; again {
			t.Fatalf("%s: packet %d twice", path, id)
		}
		times[id] = p.TimeNs
	}
	if r.Damage() != nil {
		t.Fatalf("%s: %v", path, r.Damage())
	}
	return times
}
