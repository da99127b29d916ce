package measure

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// TestWhatMayLeaveAsXDPFramesDoes: bursts to an AF_XDP socket leave as XDP frames if the interface
// accepts those; a trial's notes say so. The rings have room for all packets of a trial, so that none is lost
// on a busy host.
func TestWhatMayLeaveAsXDPFramesDoes(t *testing.T) {
	labtest.Experiment(t)
	_, err := netlink.GenlFamilyGet("netdev")
	netdev := err == nil
	for _, c := range []struct {
		kind   spec.LinkKind
		extra  string
		frames bool
	}{
		{spec.LinkXDP, "io: batch, backend: xdp", true},
		{spec.LinkVeth, "io: batch, backend: xdp", true}, // the sink's own program accepts them
		{spec.LinkBridge, "io: batch, backend: xdp", false},
		{spec.LinkXDP, "io: mmsg, backend: xdp", false},
		{spec.LinkXDP, "io: single, backend: xdp", false},
		{spec.LinkXDP, "io: batch, backend: raw", false},
	} {
		t.Run(fmt.Sprintf("%s, %s", c.kind, c.extra), func(t *testing.T) {
			experiment, writer := prepare(t, "frames", fmt.Sprintf(`
topology:
  nodes: {a: {}, b: {}}
  links: [{kind: %s, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "b:eth", rate_pps: 3000, burst: 32, %s, warmup: 50ms, duration: 250ms, drain: 1s}
`, c.kind, c.extra))
			done := finish(t, experiment, writer)
			if trial := done.Summary.Trials[0]; trial.RxPackets == 0 || trial.RxPackets != trial.TxPackets {
				t.Errorf("received %d of %d packets: %q", trial.RxPackets, trial.TxPackets, trial.Reasons)
			}
			details, err := done.TrialFolder("0001").Details()
			if err != nil {
				t.Fatal(err)
			}
			labtest.Require(t, "netlink family netdev (Linux 6.3)", !c.frames || netdev)
			if got := strings.Contains(strings.Join(details.Notes, "\n"), "XDP frames"); got != c.frames {
				t.Errorf("sends XDP frames: %v, want %v; notes %q", got, c.frames, details.Notes)
			}
		})
	}
}

// TestBackendsShareALab: the streams load and remove the program of the engine's own XDP port, and nothing else
// uses it.
func TestBackendsShareALab(t *testing.T) {
	labtest.Experiment(t)
	experiment, writer := prepare(t, "backends", `
topology:
  nodes: {a: {}, b: {}}
  links: [{kind: bridge, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "b:eth", rate_pps: 300, warmup: 50ms, duration: 250ms, drain: 1s}
sweep: {traffic.backend: [raw, xdp, udp]}
`)
	for _, trial := range finish(t, experiment, writer).Summary.Trials {
		if reasons := strings.Join(trial.Reasons, "; "); trial.RxPackets == 0 || strings.Contains(reasons, "XDP program") {
			t.Errorf("trial %s, %v: received %d of %d packets: %s", trial.ID, trial.Variables, trial.RxPackets, trial.TxPackets, reasons)
		}
	}
}
