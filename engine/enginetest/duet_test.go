package enginetest

import (
	"fmt"
	"testing"

	"nines.dev/nines/engine/client"
)

// duet is the links of both sides of a duet, in one namespace:
//
//	+-------------------------------+
//	| tx   == veth == rx    side A  |
//	| idle == veth == spare side B  |
//	+-------------------------------+
func duet(t *testing.T) network {
	t.Helper()
	n := direct(t, 1500)
	veth(t, n.generator, "idle", n.generator, "spare", 1500)
	neighbour(t, n.generator, "idle", "spare")
	return n
}

func openDuet(t *testing.T, engine *client.Client, v variant) {
	t.Helper()
	for _, ends := range [][2]string{{"tx", "rx"}, {"idle", "spare"}} {
		open(t, engine, v.port(ends[1], ends[0]))
		open(t, engine, v.port(ends[0], ends[1]))
	}
}

// duetTrial sends 1000 packets a second by each side.
func duetTrial(role string) client.Trial {
	return client.Trial{
		Role: role, CPU: -1, Duet: &client.Duet{Seed: 7},
		Streams: []client.Stream{
			{Name: "a", Tx: "tx", Rx: "rx", RatePPS: 1000, Seed: 3},
			{Name: "b", Tx: "idle", Rx: "spare", RatePPS: 1000, Seed: 3},
		},
		WarmupNs: 50e6, DurationNs: 250e6, DrainNs: 3e9, Outliers: 10,
	}
}

// checkPairs checks that the sides' packets were due in pairs, each side once in each, and neither always first.
func checkPairs(t *testing.T, dueNs [2][]int64, period int64) {
	t.Helper()
	pairs := min(len(dueNs[0]), len(dueNs[1]))
	var first [2]int
	for i := range pairs {
		a, b := dueNs[0][i], dueNs[1][i]
		if a < b {
			first[0]++
		} else {
			first[1]++
		}
		begin := 2 * int64(i) * period
		if off := min(a, b) - begin; off < -period/20 || off > period/20 {
			t.Fatalf("pair %d was due at %d and %d ns, want %d", i, a, b, begin)
		}
		if off := max(a, b) - begin - period; off < -period/20 || off > period/20 {
			t.Fatalf("pair %d was due at %d and %d ns, want %d", i, a, b, begin+period)
		}
	}
	// A host that takes the CPU away for long may leave few.
	if pairs > 100 && (first[0] < pairs/4 || first[1] < pairs/4) {
		t.Errorf("A was first in %d pairs, B in %d", first[0], first[1])
	}
}

func TestADuetOverTwoLinks(t *testing.T) {
	for _, backend := range []string{"udp", "ring", "xdp"} {
		for _, wait := range []string{"block", "spin"} {
			v := variant{backend: backend, io: "batch", wait: wait, frameBytes: 64}
			t.Run(fmt.Sprint(v), func(t *testing.T) {
				t.Parallel()
				n := duet(t)
				arrivals, file := newArrivals(t)
				engine := startWith(t, n.generator, arrivals)
				openDuet(t, engine, v)
				trial := duetTrial("loop")
				trial.Arrivals = file
				r := sent(t, engine, trial)
				dueNs := checkArrivals(t, arrivals, r)
				checkPairs(t, dueNs, 500_000)
				for i, s := range r.Streams {
					if s.RxPackets != s.TxPackets || uint64(len(dueNs[i])) != s.TxPackets || s.IntendedPackets != 250 {
						t.Errorf("side %s: %d of %d arrived, %d are kept, %d intended", s.Name, s.RxPackets, s.TxPackets, len(dueNs[i]), s.IntendedPackets)
					}
				}
			})
		}
	}
}
