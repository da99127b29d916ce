package enginetest

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/engine/client"
)

// sent runs a trial, and again if it has sent nothing: on a busy host its thread may get no CPU for as long as it
// takes. What is given besides is called before each.
func sent(t *testing.T, engine *client.Client, trial client.Trial, before ...func()) client.TrialResult {
	t.Helper()
	var r client.TrialResult
	for range 20 {
		for _, call := range before {
			call()
		}
		var err error
		if r, err = engine.Trial(trial, client.Events{}); err != nil {
			t.Fatal(err)
		}
		if r.TxPackets > 0 {
			break
		}
	}
	return r
}

// checkAll checks that every packet is accounted for. None may be lost, even on a busy machine,
// because at these rates the queues hold the whole trial.
func checkAll(t *testing.T, r client.TrialResult) {
	t.Helper()
	if r.TxPackets == 0 {
		t.Error("nothing was sent")
	}
	if r.RxPackets != r.TxPackets {
		t.Errorf("received %d of %d sent; drops %v", r.RxPackets, r.TxPackets, r.Drops)
	}
	if r.TxFailed+r.DuplicatePackets+r.ReorderedPackets+r.InvalidPackets+r.LatePackets != 0 {
		t.Errorf("failed %d, duplicate %d, reordered %d, invalid %d, late %d; want none",
			r.TxFailed, r.DuplicatePackets, r.ReorderedPackets, r.InvalidPackets, r.LatePackets)
	}
	for name, h := range map[string]client.Histogram{"latency": r.Latency, "from_tx": r.FromTx, "send_lag": r.SendLag} {
		var sum uint64
		for _, c := range h.Counts {
			sum += uint64(c[1])
		}
		if h.Count != r.RxPackets || sum != h.Count {
			t.Errorf("%s holds %d (counts add up to %d), want %d", name, h.Count, sum, r.RxPackets)
		}
	}
	var inBlocks uint64
	for _, block := range r.LatencyBlocks.Counts {
		for i := 1; i < len(block); i += 2 {
			inBlocks += uint64(block[i])
		}
	}
	if inBlocks != r.RxPackets || r.LatencyBlocks.LengthNs < 1_000_000 {
		t.Errorf("the blocks of %d ns hold %d of %d packets", r.LatencyBlocks.LengthNs, inBlocks, r.RxPackets)
	}
	if r.Spacing.Count+1 != r.TxPackets {
		t.Errorf("spacing holds %d of %d packets", r.Spacing.Count, r.TxPackets)
	}
	if r.Latency.Min < r.FromTx.Min {
		t.Errorf("latency from the intended send (%d ns) is below that from the actual (%d ns)", r.Latency.Min, r.FromTx.Min)
	}
}

// checkRecord checks that each packet has a record, in the order of ids: none of these networks
// reorders.
func checkRecord(t *testing.T, path string, packets uint64) {
	t.Helper()
	const header, record = 64, 16
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(content) != int(header+record*packets) || string(content[:8]) != "NINESREC" {
		t.Fatalf("%s has %d bytes, want %d packets in it", filepath.Base(path), len(content), packets)
	}
	var before uint64
	for i := range packets {
		one := content[header+record*i:]
		id, ticks := binary.LittleEndian.Uint32(one), binary.LittleEndian.Uint64(one[8:])
		if uint64(id) != i || ticks < before {
			t.Fatalf("%s: record %d is packet %d at tick %d, after %d", filepath.Base(path), i, id, ticks, before)
		}
		before = ticks
	}
}

// checkThroughDevice checks that the device in between counted every packet of a trial.
func checkThroughDevice(t *testing.T, r client.TrialResult, stats client.Stats) {
	t.Helper()
	checkAll(t, r)
	all := r.TxPackets + r.WarmupRxPackets
	if stats.Ports[0].RxPackets < all || stats.Ports[1].TxPackets < all {
		t.Errorf("the device counts %+v, want %d in and out", stats.Ports, all)
	}
}

// refusal checks a refusal's errno and a part of its text.
func refusal(t *testing.T, what string, err error, errno, text string) {
	t.Helper()
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Errno != errno || !strings.Contains(refused.Problem, text) {
		t.Errorf("%s: %v; want %s and %q", what, err, errno, text)
	}
}
