package lab

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestEveryKindCarriesPackets pings from every node to every other over each kind that the kernel alone makes,
// with two endpoints and with three, with frames of the usual and of jumbo size.
func TestEveryKindCarriesPackets(t *testing.T) {
	for _, kind := range spec.LinkKinds() {
		d := kind.Descriptor()
		if d.Program != nil || d.End == spec.EndNone || d.End.IsHardware() || d.Remote {
			continue
		}
		for _, nodes := range []int{2, 3} {
			if d.Pair && nodes != 2 {
				continue
			}
			for _, mtu := range []int{1500, 9000} {
				if d.MostMTU > 0 && mtu > d.MostMTU {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d/%d", kind, nodes, mtu), func(t *testing.T) {
					labtest.Root(t)
					everyPing(t, up(t, labs.Star(string(kind), nodes, mtu)), mtu)
				})
			}
		}
	}
}

func everyPing(t *testing.T, lab *Lab, mtu int) {
	t.Helper()
	// 20 bytes of IP and 8 of ICMP fill the frame.
	size := fmt.Sprint(mtu - 28)
	for _, n := range lab.Plan().Nodes {
		for _, neighbour := range n.Interfaces[0].Neighbours {
			out := in(t, lab, n.Name, "ping", "-c2", "-i0.01", "-W2", "-M", "do", "-s", size, neighbour.IP)
			if !strings.Contains(out, " 0% packet loss") {
				t.Errorf("%s to %s: %s", n.Name, neighbour.IP, out)
			}
		}
	}
	for _, s := range lab.Settings() {
		for _, feature := range []string{"tso", "gso", "tx_checksum"} {
			// A macvlan cannot do without (ALWAYS_ON_OFFLOADS in drivers/net/macvlan.c);
			// TestTCPSendsFramesOfTheMTU shows what it does instead.
			fixed := lab.Plan().Links[0].Kind == spec.LinkMacvlan && s.Node != "" && feature != "gso"
			if s.Values[feature] == "on" && !fixed {
				t.Errorf("%s %s: %s is on", s.Node, s.Device, feature)
			}
		}
	}
}

func TestTheSwitchLearnsAndFloods(t *testing.T) {
	labtest.Root(t)
	lab := up(t, labs.Star("xdp", 3, 1500))
	counters := func() link.SwitchCounters {
		seen, err := lab.Inspect(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range seen.LinkList[0].Devices {
			if d.Switch != nil {
				return *d.Switch
			}
		}
		t.Fatal("no port has the switch's counters")
		return link.SwitchCounters{}
	}
	before := counters()
	everyPing(t, lab, 1500)
	// 6 pairs, 2 requests and 2 answers each: all addresses were known.
	after := counters()
	if got := after.Forwarded - before.Forwarded; got < 24 || after.Flooded != before.Flooded {
		t.Errorf("it forwarded %d frames and flooded %d", got, after.Flooded-before.Flooded)
	}
	// An address that nobody has goes everywhere.
	in(t, lab, "n1", "ip", "neigh", "replace", "198.18.255.1", "lladdr", "02:00:00:00:00:99", "dev", "eth")
	cmd, err := lab.Command(context.Background(), "n1", []string{"ping", "-c1", "-W1", "-I", "eth", "198.18.255.1"}, running.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Run() // nobody answers
	if got := counters().Flooded - after.Flooded; got != 1 {
		t.Errorf("it flooded %d frames, not 1", got)
	}
}
