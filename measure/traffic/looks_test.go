package traffic

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// periodNs is between the packets of the test's duets.
const periodNs = 250_000

// lookedAt runs a duet of this many packets in the memory of an engine, with looks; a tenth of side b is lost.
func lookedAt(t *testing.T, packets int64, looks Looks) Outcome {
	t.Helper()
	arrivals, err := client.NewArrivals()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { arrivals.Close() })
	engine := &process{Client: labtest.StartEngine(t, "", arrivals.File()).Client, cmd: &exec.Cmd{Process: &os.Process{}}}
	trial := client.Trial{
		Role: "loop", CPU: -1, Duet: &client.Duet{Seed: 3}, Arrivals: firstFile,
		WarmupNs: 20e6, DurationNs: packets * periodNs, DrainNs: 30e6,
	}
	for _, side := range []string{"a", "b"} {
		tx := client.Port{Name: "tx" + side, Backend: "memory", Interface: side, Wait: "spin", LocalIP: "10.0.0.1", PeerIP: "10.0.0.2", LocalMAC: "02:00:00:00:00:01", PeerMAC: "02:00:00:00:00:02"}
		if side == "b" {
			tx.Backend, tx.Fault = "fault", &client.Fault{Drop: 0.1, Seed: 1}
		}
		for _, port := range []client.Port{tx, {Name: "rx" + side, Backend: "memory", Interface: side, Wait: "spin", LocalIP: "10.0.0.2"}} {
			if _, err := engine.Open(port); err != nil {
				t.Fatal(err)
			}
		}
		trial.Streams = append(trial.Streams, client.Stream{Name: side, Tx: tx.Name, Rx: "rx" + side, RatePPS: 1e9 / periodNs / 2, Seed: 1})
	}
	g := &Generator{tx: engine, rx: engine, arrivals: arrivals}
	g.Look(&looks)
	outcome, err := g.looksAt(trial).during(func() (Outcome, error) {
		r, err := engine.Trial(trial, engine.events(t.Context(), nil, nil, g.begun))
		return Outcome{Tx: r, Rx: r}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if g.begun != nil || outcome.Rx.Interrupted {
		t.Errorf("begun %v, interrupted %v", g.begun != nil, outcome.Rx.Interrupted)
	}
	return outcome
}

// checkLooks checks that looks had all packets once, by their times in the schedule; after one that ends the trial those
// may still have come that were late when it began.
func checkLooks(t *testing.T, outcome Outcome, sent []client.Sent, ended bool) {
	t.Helper()
	var lost, of [2]uint64
	for i, one := range sent {
		side := 0
		if one.SideB {
			side = 1
		}
		of[side]++
		if one.ReceivedNs == client.NotReceived {
			lost[side]++
		} else if one.ReceivedNs < one.DueNs {
			t.Errorf("%+v", one)
		}
		if off := one.DueNs - int64(i)*periodNs; off < -periodNs/20 || off > periodNs/20 {
			t.Fatalf("packet %d was due at %d, %d ns after its time", i, one.DueNs, off)
		}
	}
	for side, s := range outcome.Rx.Streams {
		if ended && of[side] < s.TxPackets {
			continue
		}
		if of[side] != s.TxPackets || lost[side] != s.TxPackets-s.RxPackets {
			t.Errorf("side %s: %d packets, %d lost, want %d and %d", s.Name, of[side], lost[side], s.TxPackets, s.TxPackets-s.RxPackets)
		}
	}
}

func TestLooksHaveAllPackets(t *testing.T) {
	var sent []client.Sent
	var at []int64
	outcome := lookedAt(t, 1000, Looks{AtNs: []int64{50e6, 100e6, 200e6}, Look: func(since []client.Sent, trafficNs int64) bool {
		sent, at = append(sent, since...), append(at, trafficNs)
		return false
	}})
	checkLooks(t, outcome, sent, false)
	// A host that takes the CPU away for long may have the trial end before its looks.
	if want := []int64{50e6, 100e6, 200e6, 250e6}; len(outcome.Rx.Pauses) == 3 && !slices.Equal(at, want) {
		t.Errorf("looks at %v, want %v", at, want)
	}
	if len(at) == 0 || at[len(at)-1] != 250e6 {
		t.Errorf("the last look is at %v", at)
	}
}

func TestALookEndsTheTrial(t *testing.T) {
	var sent []client.Sent
	looks := 0
	outcome := lookedAt(t, 3600*1e9/periodNs, Looks{AtNs: []int64{20e6, 40e6, 1800e9}, Look: func(since []client.Sent, _ int64) bool {
		sent = append(sent, since...)
		looks++
		return looks == 2
	}})
	checkLooks(t, outcome, sent, true)
	if looks != 2 || outcome.Rx.StoppedNs < 40e6 || outcome.Rx.IntendedPackets < outcome.Rx.TxPackets {
		t.Errorf("%d looks, stopped after %d ns, %d packets of %d", looks, outcome.Rx.StoppedNs, outcome.Rx.TxPackets, outcome.Rx.IntendedPackets)
	}
}
