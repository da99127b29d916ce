package measure

import (
	"os/exec"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// TestStagesOfAGuest: packets are followed through a guest's kernel and the host's, and both are told apart.
//
//	gen:eth0 ──veth, bridge, tap── dut:eth0 ▸ reflect ▸ back
func TestStagesOfAGuest(t *testing.T) {
	labtest.Experiment(t)
	_, err := exec.LookPath("qemu-system-x86_64")
	labtest.Require(t, "qemu-system-x86_64 (make setup-vm)", err == nil)
	experiment, writer := prepare(t, "guest-stages", `
topology:
  nodes:
    gen: {}
    dut: {runtime: vm, vm: {acceleration: tcg}, app: {kind: reflect}}
  links:
    - {name: wire, kind: bridge, endpoints: ["gen:eth0", "dut:eth0"]}
traffic: {from: "gen:eth0", to: "gen:eth0", wait: block, rate_pps: 100, duration: 1s, warmup: 100ms, drain: 10s, outliers: 10}
trace: true
`)
	done := finish(t, experiment, writer)
	details, err := done.TrialFolder("0001").Details()
	if err != nil || details.Trace == nil {
		t.Fatalf("%v, %+v", err, details.Trace)
	}
	seen := map[string]uint64{}
	for _, s := range details.Trace.Stages {
		seen[s.Guest+" "+s.Device+" "+s.From+" to "+s.To] += s.Delay.Count
	}
	for _, want := range []string{"dut dut:eth0 qdisc to driver", " gen:eth0 qdisc to driver"} {
		if seen[want] < 90 { // of 100 and the warm-up's
			t.Errorf("%s: %d packets of %v", want, seen[want], seen)
		}
	}
	if notes := strings.Join(details.Trace.GuestNotes, "; "); !strings.Contains(notes, "timings mean nothing") || strings.Contains(notes, "not known") {
		t.Errorf("the notes are %q", notes)
	}
}
