package enginetest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// TestWithoutBPFTheKernelTellsTheWay of the warm-up's packets, and of probes, beside them: TTL and addresses, of both IP
// versions, one packet a call or many.
func TestWithoutBPFTheKernelTellsTheWay(t *testing.T) {
	labtest.Require(t, "root, for network namespaces", os.Geteuid() == 0)
	ns := namespace(t)
	veth(t, ns, "tx", ns, "rx", 1500)
	for end, address := range map[string]string{"tx": "2001:2::1", "rx": "2001:2::2"} {
		if out, err := exec.Command("ip", "netns", "exec", ns, "sysctl", "-qw", "net.ipv6.conf."+end+".disable_ipv6=0").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		ip(t, fmt.Sprintf("-n %s addr add %s/64 dev %s nodad", ns, address, end))
	}
	ip(t, fmt.Sprintf("-n %s neigh replace 2001:2::2 lladdr %s dev tx", ns, macs["rx"]))
	ip(t, fmt.Sprintf("-n %s neigh replace %s lladdr %s dev tx", ns, addresses["rx"], macs["rx"]))
	for _, test := range []struct {
		name, from, to, io string
		probe              bool
		ipBytes            int
	}{
		{"single", "198.18.0.1", "198.18.1.1", "single", false, 46},
		{"batch", "198.18.0.1", "198.18.1.1", "batch", false, 46},
		{"IPv6", "2001:2::1", "2001:2::2", "batch", false, 66},
		{"probe", "198.18.0.1", "198.18.1.1", "single", true, 46},
	} {
		t.Run(test.name, func(t *testing.T) {
			bare := labtest.RunEngine(t, exec.Command("ip", "netns", "exec", ns, "setpriv", "--bounding-set", "-bpf,-sys_admin", "--inh-caps", "-bpf,-sys_admin", labtest.EnginePath(t)))
			if _, err := bare.Hello(); err != nil {
				t.Fatal(err)
			}
			for _, port := range []client.Port{
				{Name: "tx", Interface: "tx", LocalIP: test.from, PeerIP: test.to, PeerMAC: "02:00:00:00:00:02"},
				{Name: "rx", Interface: "rx", LocalIP: test.to, PeerIP: test.from, PeerMAC: "02:00:00:00:00:01"},
			} {
				port.Backend, port.IO, port.Wait, port.FrameBytes, port.UDPPort, port.Flows = "udp", test.io, "spin", test.ipBytes+18, 7000, 1
				if _, err := bare.Open(port); err != nil {
					t.Fatal(err)
				}
			}
			for again := range 2 {
				trial := client.Trial{Role: "loop", CPU: -1, WarmupNs: 50e6, DurationNs: 100e6, DrainNs: 500e6, Probe: test.probe,
					Streams: []client.Stream{{Name: "one", Tx: "tx", Rx: "rx", RatePPS: 2000}}}
				if test.probe {
					trial.WarmupNs = 0
				}
				r, err := bare.Trial(trial, client.Events{})
				if err != nil {
					t.Fatal(err)
				}
				if r.Seen == nil || len(r.Seen.Ways) != 1 || !strings.Contains(r.Seen.Unseen, "needs CAP_BPF") {
					t.Fatalf("trial %d: seen %+v, %d packets, notes %q", again, r.Seen, r.RxPackets, r.Notes)
				}
				w := r.Seen.Ways[0]
				if w.TTL != 64 || w.SourceIP != test.from || w.DestinationIP != test.to || w.SourcePort != 7000 || w.DestinationPort != 7000 || w.IPBytes != test.ipBytes || w.SourceMAC != "00:00:00:00:00:00" {
					t.Errorf("trial %d: %+v", again, w)
				}
				if most := uint64(200); w.Packets == 0 || !test.probe && w.Packets > most || test.probe && w.Packets != r.RxPackets {
					t.Errorf("trial %d: %d packets were looked at, %d received", again, w.Packets, r.RxPackets)
				}
			}
		})
	}
}
