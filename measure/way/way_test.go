package way

import (
	"strings"
	"testing"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

const (
	senderMAC, inMAC, outMAC, receiverMAC = "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03", "02:00:00:00:00:04"
	senderIP, inIP, outIP, receiverIP     = "10.0.0.1", "10.0.0.2", "10.0.1.2", "10.0.1.1"
)

// laid is a plan whose device leaves packets so.
func laid(way plan.Way, leaves spec.Leaves) *plan.Plan {
	way.Steps = []plan.WayStep{{Node: "dut", Leaves: leaves, Does: "your device"}}
	return &plan.Plan{
		Nodes: []plan.Node{
			{Name: "dut", Interfaces: []plan.Interface{
				{Name: "in", MAC: inMAC, Addresses: []string{inIP + "/24"}}, {Name: "out", MAC: outMAC, Addresses: []string{outIP + "/24"}},
			}},
			{Name: "loadgen", Interfaces: []plan.Interface{
				{Name: "tx", MAC: senderMAC, Addresses: []string{senderIP + "/24"}}, {Name: "rx", MAC: receiverMAC, Addresses: []string{receiverIP + "/24"}},
			}},
		},
		Traffic: &plan.Traffic{
			From: plan.Port{Node: "loadgen", LocalIP: senderIP, LocalMAC: senderMAC, UDPPort: 7999},
			To:   plan.Port{Node: "loadgen", LocalIP: receiverIP, LocalMAC: receiverMAC, UDPPort: 7999},
			Way:  &way, Stream: spec.Traffic{FrameBytes: 64},
		},
	}
}

// arrived are packets as the sender's leave it, but for changes.
func arrived(change func(*client.Way)) client.Way {
	w := client.Way{
		Packets: 1000, SourceMAC: senderMAC, DestinationMAC: receiverMAC, TTL: 64, SourceIP: senderIP, DestinationIP: receiverIP,
		SourcePort: 7999, DestinationPort: 7999, IPBytes: 46,
	}
	change(&w)
	return w
}

var ways = map[string]client.Way{
	"unchanged":   arrived(func(*client.Way) {}),
	"forwarded":   arrived(func(w *client.Way) { w.SourceMAC = outMAC }),
	"routed":      arrived(func(w *client.Way) { w.SourceMAC, w.TTL = outMAC, 63 }),
	"translated":  arrived(func(w *client.Way) { w.SourceMAC, w.TTL, w.SourceIP, w.SourcePort = outMAC, 63, "192.0.2.7", 1024 }),
	"relayed":     arrived(func(w *client.Way) { w.SourceMAC, w.SourceIP, w.SourcePort = outMAC, outIP, 40000 }),
	"encapsulate": arrived(func(w *client.Way) { w.SourceMAC, w.TTL, w.IPBytes = outMAC, 63, 96 }),
}

func TestTheWayInWords(t *testing.T) {
	for name, want := range map[string]string{
		"unchanged":   "unchanged",
		"forwarded":   "forwarded by dut: MACs rewritten",
		"routed":      "routed by dut: TTL -1",
		"translated":  "translated by dut: source address 192.0.2.7, TTL -1, source port 1024",
		"relayed":     "relayed by dut, source port 40000",
		"encapsulate": "routed by dut: TTL -1, +50 bytes",
	} {
		got := Seen(laid(plan.Way{}, ""), &client.Seen{Ways: []client.Way{ways[name]}})
		if got.Words != want || got.Declared {
			t.Errorf("%s: %q (declared: %v), want %q", name, got.Words, got.Declared, want)
		}
	}
}

// TestWhatIsDeclaredMustBeSeen: each way against each declaration; one that a looser declaration holds is none against it.
func TestWhatIsDeclaredMustBeSeen(t *testing.T) {
	declared := map[spec.Leaves]struct {
		way   plan.Way
		holds []string
	}{
		spec.LeavesUnchanged: {plan.Way{SourceMACs: []string{senderMAC}, DestinationMAC: receiverMAC, TTL: 64, SourceIPs: []string{senderIP}, SourcePort: 7999}, []string{"unchanged"}},
		spec.LeavesForwarded: {plan.Way{NotSourceMAC: senderMAC, TTL: 64, SourceIPs: []string{senderIP}, SourcePort: 7999}, []string{"forwarded"}},
		spec.LeavesRouted: {
			plan.Way{SourceMACs: []string{outMAC}, DestinationMAC: receiverMAC, TTLBelow: 64, SourceIPs: []string{senderIP}, SourcePort: 7999},
			[]string{"routed", "encapsulate"},
		},
		spec.LeavesTranslated: {plan.Way{SourceMACs: []string{outMAC}, DestinationMAC: receiverMAC, TTLBelow: 64}, []string{"routed", "encapsulate", "translated"}},
		spec.LeavesRelayed:    {plan.Way{SourceMACs: []string{outMAC}, DestinationMAC: receiverMAC, SourceIPs: []string{outIP, inIP}}, []string{"relayed"}},
	}
	for leaves, d := range declared {
		for name, way := range ways {
			p := laid(d.way, leaves)
			seen := Seen(p, &client.Seen{Ways: []client.Way{way}})
			reasons := Contradictions(p, seen)
			holds := false
			for _, one := range d.holds {
				holds = holds || one == name
			}
			if holds != (len(reasons) == 0) {
				t.Errorf("leaves: %s, and packets %s: %q", leaves, name, reasons)
			}
			for _, reason := range reasons {
				if !strings.Contains(reason, "1000 of 1000 packets") || !strings.Contains(reason, "dut's device must leave them "+string(leaves)) {
					t.Errorf("leaves: %s, and packets %s: %q", leaves, name, reason)
				}
			}
		}
	}
}

func TestAFewPacketsAstrayAreTold(t *testing.T) {
	p := laid(plan.Way{SourceMACs: []string{outMAC}, TTLBelow: 64}, spec.LeavesRouted)
	few := ways["unchanged"]
	few.Packets = 3
	seen := Seen(p, &client.Seen{Ways: []client.Way{few, ways["routed"]}})
	if want := "routed by dut: TTL -1 (1000 of 1003 packets); otherwise unchanged"; seen.Words != want {
		t.Errorf("%q, want %q", seen.Words, want)
	}
	if reasons := Contradictions(p, seen); len(reasons) != 1 || !strings.HasPrefix(reasons[0], "3 of 1003 packets did not come as planned: unchanged (source MAC 02:00:00:00:00:01, TTL 64)") {
		t.Errorf("%q", reasons)
	}
	if reasons := Contradictions(p, Seen(p, &client.Seen{Ways: []client.Way{ways["routed"]}, Others: 7})); len(reasons) != 1 || !strings.Contains(reasons[0], "7 of 1007") {
		t.Errorf("%q", reasons)
	}
}

// TestWhereNobodyCouldLookNothingIsSaid: neither that the path was right nor that it was wrong.
func TestWhereNobodyCouldLookNothingIsSaid(t *testing.T) {
	p := laid(plan.Way{SourceMACs: []string{outMAC}, TTLBelow: 64}, spec.LeavesRouted)
	seen := Seen(p, nil)
	if seen.Words != "" || seen.Unseen == "" || len(Contradictions(p, seen)) > 0 {
		t.Errorf("%+v", seen)
	}
}

// TestDamagedHeadersAreNotTakenForOtherPaths: a link that damages packets deliberately may damage their MAC addresses.
func TestDamagedHeadersAreNotTakenForOtherPaths(t *testing.T) {
	p := laid(plan.Way{SourceMACs: []string{outMAC}, TTLBelow: 64}, spec.LeavesRouted)
	damaged := ways["routed"]
	damaged.Packets, damaged.SourceMAC = 2, "02:00:00:00:00:0b"
	seen := &client.Seen{Ways: []client.Way{damaged, ways["routed"]}, Others: 1}
	if len(Contradictions(p, Seen(p, seen))) == 0 {
		t.Error("nothing is said")
	}
	p.Links = []plan.Link{{Impairments: []plan.Impairment{{Impairment: spec.Impairment{Corrupt: 0.01}}}}}
	if reasons := Contradictions(p, Seen(p, seen)); len(reasons) > 0 {
		t.Errorf("%q", reasons)
	}
	var none *result.SeenPath
	if Contradictions(p, none) != nil {
		t.Error("a trial without packets")
	}
}

func TestHopsSayWhatEachInterfaceCounted(t *testing.T) {
	p := laid(plan.Way{}, spec.LeavesRelayed)
	p.Traffic.Path = []string{"loadgen:tx", "dut:in", "dut:out", "loadgen:rx"}
	seen := []result.SeenNode{
		{Node: "loadgen", Interfaces: map[string]map[string]uint64{"tx": {"tx_packets": 20}}},
		{Node: "dut", Counters: map[string]uint64{"Udp.NoPorts": 19, "Ip.InReceives": 20}, Interfaces: map[string]map[string]uint64{"in": {"rx_packets": 20, "rx_dropped": 1}}},
	}
	if got, want := Hops(p, seen), "loadgen:tx sent 20, dut:in received 20 and dropped 1 (Udp.NoPorts 19), dut:out sent 0, loadgen:rx received 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	p.Traffic.RoundTrip, p.Traffic.Path = true, []string{"loadgen:tx", "dut:in"}
	if got, want := Hops(p, seen[1:]), "loadgen:tx sent what the kernel does not count, dut:in received 20 and dropped 1 (Udp.NoPorts 19), dut:in sent 0, loadgen:tx received what the kernel does not count"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := Hops(p, nil); got != "" {
		t.Errorf("%q of nothing", got)
	}
}

// TestWithoutMACAddresses: what a socket is told of the warm-up's packets decides what it can, and says what it cannot.
func TestWithoutMACAddresses(t *testing.T) {
	bare := func(w client.Way) *client.Seen {
		w.SourceMAC, w.DestinationMAC = noMAC, noMAC
		return &client.Seen{Ways: []client.Way{w}, Unseen: "rx: it needs CAP_BPF"}
	}
	p := laid(plan.Way{TTL: 64, NotSourceMAC: senderMAC, SourceIPs: []string{senderIP}}, spec.LeavesForwarded)
	s := Seen(p, bare(ways["forwarded"]))
	if s.Words != "unchanged or forwarded" || !s.OfWarmup || s.Unseen == "" || len(Contradictions(p, s)) > 0 {
		t.Errorf("%+v, %q", s, Contradictions(p, s))
	}
	s = Seen(p, bare(ways["routed"]))
	if reasons := Contradictions(p, s); len(reasons) != 1 || !strings.Contains(reasons[0], "1000 of 1000 packets of the warm-up did not come as planned: routed: TTL -1") {
		t.Errorf("%q", reasons)
	}
	s = Seen(p, &client.Seen{Unseen: "rx: it needs CAP_BPF"})
	if s.OfWarmup || s.Words != "" || s.Unseen == "" || len(Contradictions(p, s)) > 0 {
		t.Errorf("nothing came in the warm-up: %+v", s)
	}
}
