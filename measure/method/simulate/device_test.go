package simulate

import (
	"context"
	"math"
	"testing"
	"time"

	"nines.dev/nines/measure/method"
)

// TestTruthIsWhereTrialsTurn counts trials just below and above each device's truth: more than the
// goal's fraction pass below, and fewer above.
func TestTruthIsWhereTrialsTurn(t *testing.T) {
	const trials = 400
	goals := []struct{ loss, exceed float64 }{{0, 0.5}, {0.005, 0.5}, {0, 0.25}}
	for i, d := range append(Population(Quiet, 100, 1), Population(Noisy, 100, 1)...) {
		goal := goals[i%len(goals)]
		truth := d.Truth(goal.loss, goal.exceed, time.Second)
		// Far enough for 400 trials to tell, and for a packet more or less not to matter.
		for _, side := range []float64{-0.004, 0.004} {
			passed := 0
			for range trials {
				o, err := d.Trial(context.Background(), method.Load{RatePPS: truth * (1 + side), Duration: time.Second})
				if err != nil {
					t.Fatal(err)
				}
				if o.LosesAtMost(goal.loss) {
					passed++
				}
			}
			if share := float64(passed) / trials; (share >= 1-goal.exceed) != (side < 0) {
				t.Errorf("%+v: at %g of its truth for %+v, %.2f of the trials pass", d, 1+side, goal, share)
			}
		}
	}
}

func TestSameSeedSameTrials(t *testing.T) {
	for _, d := range Population(Noisy, 20, 1) {
		again := d
		for trial := range 50 {
			load := method.Load{RatePPS: d.CapacityPPS * (0.9 + 0.004*float64(trial)), Duration: time.Second}
			a, err := d.Trial(context.Background(), load)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := again.Trial(context.Background(), load); err != nil || a != b {
				t.Fatalf("%+v and %+v: %v", a, b, err)
			}
		}
	}
}

func TestBurstsEndWithTheirPackets(t *testing.T) {
	d := Device{CapacityPPS: 1000, QueuePackets: 10}
	o, err := d.Trial(context.Background(), method.Load{RatePPS: 2000, Duration: time.Second, Packets: 50})
	if err != nil {
		t.Fatal(err)
	}
	// 50 packets arrive in 25 ms, in which 25 leave; 10 wait and 15 are lost.
	if o.Intended != 50 || o.Received != 35 || math.Abs(o.LossRatio()-0.3) > 1e-12 {
		t.Errorf("%+v", o)
	}
}
