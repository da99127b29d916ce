package lab

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// needTunnel skips a test if the host cannot make a link of the kind.
func needTunnel(t testing.TB, kind spec.LinkKind) {
	t.Helper()
	labtest.Root(t)
	if kind == spec.LinkOVN {
		labs.NeedOVS(t, string(kind))
	}
}

// TestATunnelCarriesPackets pings over tunnels, with frames that fill the link's MTU, and finds them in
// the tunnel:
//
//	n1 ── eth ── bridge or br-int ─ tunnel ─ eth0 ══ eth0 ─ tunnel ─ bridge or br-int ── eth ── n2
func TestATunnelCarriesPackets(t *testing.T) {
	for kind, most := range map[spec.LinkKind]int{spec.LinkVXLAN: 65435, spec.LinkOVN: 9000} {
		for _, mtu := range []int{1500, most} {
			t.Run(fmt.Sprintf("%s/%d", kind, mtu), func(t *testing.T) {
				needTunnel(t, kind)
				lab := up(t, labs.OVSStar(string(kind), 2, mtu))
				everyPingOnce(t, lab)
				seen, err := lab.Inspect(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				devices := seen.LinkList[0].Devices
				for _, e := range lab.Plan().Links[0].Endpoints {
					i := slices.IndexFunc(devices, func(d link.Device) bool { return d.Name == e.FabricDevice })
					if i < 0 || devices[i].RxPackets == 0 || devices[i].TxPackets == 0 {
						t.Errorf("no packets went by %s: %+v", e.FabricDevice, devices)
					}
				}
				overTheCable(t, lab, kind)
				if faults := statusOf(lab.Name()).Faults; len(faults) > 0 {
					t.Errorf("it is whole, and has the faults %q", faults)
				}
				if err := lab.Down(context.Background()); err != nil {
					t.Fatal(err)
				}
				if left := traces.Left(t, lab.Plan().Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
	}
}

// overTheCable fails if the cards of the tunnel's hosts have not carried the packets of everyPingOnce: a
// request each way, and its answer.
func overTheCable(t *testing.T, lab *Lab, kind spec.LinkKind) {
	t.Helper()
	programs, err := lab.Programs()
	if err != nil {
		t.Fatal(err)
	}
	held, err := lab.Holders()
	holders := held.Of(lab.Plan().Links[0].Name, programs)
	if err != nil || len(holders) != 2 {
		t.Fatalf("the hosts of the tunnel are %v, %v", holders, err)
	}
	for _, pid := range holders {
		devices, err := link.Devices(link.Holder{PID: pid})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(devices, func(d link.Device) bool { return d.Name == "eth0" })
		if i < 0 || devices[i].RxPackets < 2 || devices[i].TxPackets < 2 {
			t.Errorf("%s: a host's card has not carried them: %+v", kind, devices)
		}
	}
}

// TestACutTunnelPassesNothing takes down both ends, which are in a namespace each.
func TestACutTunnelPassesNothing(t *testing.T) {
	needTunnel(t, spec.LinkVXLAN)
	lab := up(t, labs.Star("vxlan", 2, 1500))
	everyPingSoon(t, lab)
	cut, err := lab.PrepareCut(context.Background(), "lan")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cut.Down(); err != nil {
		t.Fatal(err)
	}
	for from := range 2 {
		if reaches(t, lab, from) {
			t.Errorf("a packet of node %d passed while the link was down", from)
		}
	}
	if err := cut.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	everyPingSoon(t, lab)
	if left := cuts(t, lab); left > 0 {
		t.Errorf("%d steps of the cut are left", left)
	}
}

// TestATunnelWithoutAHostIsTold ends the namespace of one of its hosts.
func TestATunnelWithoutAHostIsTold(t *testing.T) {
	needTunnel(t, spec.LinkVXLAN)
	lab := up(t, labs.Star("vxlan", 2, 1500))
	held, err := lab.Holders()
	holders := held.Of(lab.Plan().Links[0].Name, nil)
	if err != nil || len(holders) != 2 {
		t.Fatalf("its hosts are %v, %v", holders, err)
	}
	if err := syscall.Kill(holders[1], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "that it is gone is told", func() bool { return len(statusOf(lab.Name()).Faults) > 0 })
}

// TestAnOVNSwitchThatDiesIsTold ends the switch of one host.
func TestAnOVNSwitchThatDiesIsTold(t *testing.T) {
	needTunnel(t, spec.LinkOVN)
	before := systemOVS(t)
	lab := up(t, labs.OVSStar("ovn", 2, 1500))
	programs, err := lab.Programs()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range programs {
		names = append(names, p.Name)
	}
	want := "ovn-central ovn-northd ovsdb-server-0 ovs-vswitchd-0 ovsdb-server-1 ovs-vswitchd-1 ovn-controller-0 ovn-controller-1"
	if got := strings.Join(names, " "); got != want {
		t.Fatalf("its programs are %s", got)
	}
	if err := syscall.Kill(programs[5].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "that it has died is told", func() bool {
		faults := statusOf(lab.Name()).Faults
		return len(faults) == 1 && strings.Contains(faults[0], "ovs-vswitchd-1 of link lan has died")
	})
	if after := systemOVS(t); !slices.Equal(before, after) {
		t.Errorf("the system's OVN was touched:\n%v\n%v", before, after)
	}
}
