package enginetest

import (
	"fmt"
	"testing"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// duet is the links of both sides of a duet, in one namespace:
//
//	+------------------------------+
//	| tx   == veth == rx    side A |
//	| tx-b == veth == rx-b  side B |
//	+------------------------------+
func duet(t *testing.T) network {
	t.Helper()
	n := direct(t, 1500)
	veth(t, n.generator, "tx-b", n.generator, "rx-b", 1500)
	neighbour(t, n.generator, "tx-b", "rx-b")
	return n
}

// duetThroughDUT has a device between them, the same for both:
//
//	generator                device under test
//	+-------+                +-------+
//	| tx   ==================== in   |  side A
//	| rx   ==================== out  |
//	| tx-b ==================== in-b |  side B
//	| rx-b ==================== out-b|
//	+-------+                +-------+
func duetThroughDUT(t *testing.T) network {
	t.Helper()
	n := throughDUT(t, 1500)
	veth(t, n.generator, "tx-b", n.dut, "in-b", 1500)
	veth(t, n.generator, "rx-b", n.dut, "out-b", 1500)
	return n
}

func openDuet(t *testing.T, engine *client.Client, v variant, ends ...[2]string) {
	t.Helper()
	for _, e := range ends {
		open(t, engine, v.port(e[1], ""))
		open(t, engine, v.port(e[0], e[1]))
	}
}

// duetTrial sends 1000 packets a second by each side.
func duetTrial(role string) client.Trial {
	return client.Trial{
		Role: role, CPU: -1, Duet: &client.Duet{Seed: 7},
		Streams: []client.Stream{
			{Name: "a", Tx: "tx", Rx: "rx", RatePPS: 1000, Seed: 3},
			{Name: "b", Tx: "tx-b", Rx: "rx-b", RatePPS: 1000, Seed: 3},
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
				openDuet(t, engine, v, [2]string{"tx", "rx"}, [2]string{"tx-b", "rx-b"})
				trial := duetTrial("loop")
				trial.Arrivals = file
				r := sent(t, engine, trial)
				dueNs := checkArrivals(t, arrivals, r)
				checkPairs(t, dueNs, 500_000)
				checkSides(t, r, dueNs)
			})
		}
	}
}

func checkSides(t *testing.T, r client.TrialResult, dueNs [2][]int64) {
	t.Helper()
	for i, s := range r.Streams {
		if s.RxPackets != s.TxPackets || uint64(len(dueNs[i])) != s.TxPackets || s.IntendedPackets != 250 {
			t.Errorf("side %s: %d of %d arrived, %d are kept, %d intended", s.Name, s.RxPackets, s.TxPackets, len(dueNs[i]), s.IntendedPackets)
		}
	}
}

// TestOneThreadServesBothSides: a forwarder, and a reflector, of both. Packets of side B take known cycles more.
func TestOneThreadServesBothSides(t *testing.T) {
	const cycles = 500_000
	for _, role := range []string{"forward", "reflect"} {
		for _, wait := range []string{"block", "spin"} {
			v := variant{backend: "raw", io: "batch", wait: wait, frameBytes: 64}
			t.Run(role+" "+wait, func(t *testing.T) {
				t.Parallel()
				n := duetThroughDUT(t)
				arrivals, file := newArrivals(t)
				engine, dut := startWith(t, n.generator, arrivals), startEngine(t, n.dut)
				trial := duetTrial("loop")
				trial.Arrivals = file
				serve := client.Serve{Role: role, CPU: -1, WorkCycles: []int64{0, cycles}}
				for i, side := range []string{"", "-b"} {
					tx, in, out, rx := "tx"+side, "in"+side, "out"+side, "rx"+side
					open(t, engine, v.port(tx, in))
					open(t, dut, v.port(in, tx))
					serve.Ports = append(serve.Ports, in)
					if role == "reflect" {
						trial.Streams[i].Rx = tx
						continue
					}
					open(t, engine, v.port(rx, ""))
					open(t, dut, v.port(out, rx))
					serve.Ports = append(serve.Ports, out)
				}
				if err := dut.Serve(serve); err != nil {
					t.Fatal(err)
				}
				r := sent(t, engine, trial)
				dueNs := checkArrivals(t, arrivals, r)
				checkPairs(t, dueNs, 500_000)
				checkSides(t, r, dueNs)
				hello, err := dut.Hello()
				if err != nil {
					t.Fatal(err)
				}
				if least := int64(cycles / hello.TSC.Hz * 1e9); r.Streams[1].Latency.Min < least {
					t.Errorf("a packet of side B took %d ns, of which its work takes %d", r.Streams[1].Latency.Min, least)
				}
				stats, err := dut.Stop()
				if err != nil || len(stats.Ports) != len(serve.Ports) {
					t.Errorf("%+v, %v", stats, err)
				}
			})
		}
	}
}

func TestPortsOfAServiceAreRefused(t *testing.T) {
	t.Parallel()
	engine := labtest.StartEngine(t, "")
	for _, name := range []string{"a", "b", "c", "d"} {
		open(t, engine.Client, client.Port{Name: name, Backend: "memory", Interface: name, Wait: "spin"})
	}
	for what, c := range map[string]struct {
		serve client.Serve
		text  string
	}{
		"three ports":      {client.Serve{Role: "forward", Ports: []string{"a", "b", "c"}}, "2 ports for forward, or as many"},
		"a port twice":     {client.Serve{Role: "forward", Ports: []string{"a", "b", "c", "a"}}, "different ports"},
		"one work for two": {client.Serve{Role: "forward", Ports: []string{"a", "b", "c", "d"}, WorkCycles: []int64{1}}, "2 whole numbers"},
		"endless work":     {client.Serve{Role: "reflect", Ports: []string{"a"}, WorkCycles: []int64{1 << 40}}, "1 whole number from"},
	} {
		refusal(t, what, engine.Serve(c.serve), "EINVAL", c.text)
	}
}
