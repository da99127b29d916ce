package measure

import (
	"os/exec"
	"strings"
	"testing"

	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// runtimesNetwork has a kernel device on one side of the forwarder, and a switch port on the other,
// which is vhost-user for a virtual machine.
const runtimesNetwork = `
topology:
  nodes:
    gen: {}
    dut: {app: {kind: forward}}
  links:
    - {name: in, endpoints: ["gen:tx", "dut:in"]}
    - {name: out, kind: switch, endpoints: ["dut:out", "gen:rx"]}
traffic: {from: "gen:tx", to: "gen:rx", backend: raw, rate_pps: 200, duration: 500ms, warmup: 100ms, drain: 10s, outliers: 10}
`

// TestOneFileComparesTheRuntimes: packets pass the forwarder in each runtime, and for an emulated
// machine the verdict says that its times mean nothing.
func TestOneFileComparesTheRuntimes(t *testing.T) {
	labtest.Experiment(t)
	for _, program := range []string{"qemu-system-x86_64", "lxc-start"} {
		_, err := exec.LookPath(program)
		labtest.Require(t, program, err == nil)
	}
	experiment, writer := prepare(t, "runtimes", runtimesNetwork, `sweep.where={
		host: {nodes.dut.runtime: host}, netns: {nodes.dut.runtime: netns}, lxc: {nodes.dut.runtime: lxc},
		vm: {nodes.dut.runtime: vm, nodes.dut.vm: {acceleration: tcg}}}`)
	done := finish(t, experiment, writer)
	if len(done.Summary.Trials) != 4 {
		t.Fatalf("%d trials, want one for each runtime", len(done.Summary.Trials))
	}
	for _, trial := range done.Summary.Trials {
		runtime := trial.Variables["where"]
		if trial.RxPackets == 0 || trial.RxPackets+trial.LostPackets != trial.TxPackets {
			t.Errorf("%v: sent %d packets, received %d, lost %d", runtime, trial.TxPackets, trial.RxPackets, trial.LostPackets)
		}
		translated := strings.Contains(strings.Join(trial.Reasons, "; "), "timings mean nothing")
		if translated != (runtime == "vm") || translated && trial.Verdict != result.Invalid {
			t.Errorf("%v is %s: %q", runtime, trial.Verdict, trial.Reasons)
		}
	}
}
