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

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// TestALabMeasuredBothWays measures the packets of one trial with the engine and with a pair of
// captures at once.
//
//	loadgen:tx ──in── dut:in ▸ forward ▸ dut:out ──out── loadgen:rx
//	 engine            pre                                post, engine
//
// The engine stamps a packet before it sends it, and the kernel when it arrives at dut:in; the
// kernel stamps it when it arrives at loadgen:rx, and the engine after it receives it. So the
// captures never show a larger latency than the engine.
func TestALabMeasuredBothWays(t *testing.T) {
	b := newBothWays(t, "both-ways")
	b.watch("capture", "dut:in", "loadgen:rx", "--lab", "both-ways", "-w", b.pre, "-w", b.post, "--wait", "1m")
	b.run()
}

// TestASwitchMeasuredBothWays lets the switch mirror the packets that it receives and sends.
//
//	gen:tx ──▸ switch ──▸ gen:rx
//	engine  pre    post   engine
//
// The switch stamps a packet when it has received it, and again when it has copied it to the
// receiver; the engine stamps it before and after these.
func TestASwitchMeasuredBothWays(t *testing.T) {
	b := newBothWays(t, "both-ways-switch")
	b.watch("switch", "mirror", "both-ways-switch/lan", "gen:tx", "--direction", "rx", "-w", b.pre, "--wait", "1m")
	b.watch("switch", "mirror", "both-ways-switch/lan", "gen:rx", "--direction", "tx", "-w", b.post, "--wait", "1m")
	b.run()
}

// bothWays is an example that runs while it is captured.
type bothWays struct {
	*shell
	example, pre, post string
	watchers           []*process
}

func newBothWays(t *testing.T, example string) *bothWays {
	t.Helper()
	s := newShell(t)
	path, err := filepath.Abs(filepath.Join("../../examples", example+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return &bothWays{shell: s, example: path, pre: filepath.Join(s.dir, "pre.pcap"), post: filepath.Join(s.dir, "post.pcap")}
}

// watch starts a capture, which waits for the lab.
func (b *bothWays) watch(arguments ...string) {
	b.watchers = append(b.watchers, b.start(arguments...))
}

// run measures, waits for the captures, and compares.
func (b *bothWays) run() {
	t := b.t
	t.Helper()
	out := filepath.Join(b.dir, "results")
	code, said := b.call("run", b.example, "--out", out, "--set", "traffic.duration=2s", "--set", "traffic.drain=10s")
	if code != 0 && !labtest.NoneValid(said) {
		t.Fatalf("nines run: exit code %d: %s", code, said)
	}
	for _, w := range b.watchers {
		select {
		case <-w.ended:
		case <-time.After(time.Minute):
			t.Fatalf("%q outlives the lab", w.Args)
		}
		if !w.ProcessState.Success() {
			t.Fatalf("%q: %v: %s", w.Args, w.ProcessState, w.said.String())
		}
	}
	folder, err := result.Open(filepath.Join(out, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	trial := folder.Summary.Trials[0]
	agree(t, b.pre, b.post, trial)

	// The same with nines analyze, which also sees the warm-up: a few packets, or none on a
	// busy host.
	code, said = b.call("analyze", b.pre, b.post, "--key", "nines", "--format", "json")
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
	if warm := found.Pairs - trial.RxPackets; warm > 20 || found.Lost != trial.LostPackets || evaluated.Clocks.Negative != 0 {
		t.Errorf("analyze finds %+v; the engine %d received, %d lost", evaluated, trial.RxPackets, trial.LostPackets)
	}
}

// agree compares the captures with the engine's counts and latencies.
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
	// What holds for every packet holds for every percentile.
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

// measured returns the times of a trial's packets by their ids: the measured ones, after the
// Ethernet, IP and UDP headers (docs/measuring.md).
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
