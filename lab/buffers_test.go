package lab

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/plan"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// A forwarder between two DPDK ports, which its engine opens together:
//
//	gen:tx ──kind── dut:in  (forward, dpdk)  dut:out ──kind── gen:rx
func forwardLab(kind, driver string, frameBytes int, memory string) string {
	return fmt.Sprintf(`name: tbleast
dpdk: {hugepages: none, driver: %s, memory: %s}
topology:
  nodes: {gen: {}, dut: {app: {kind: forward, backend: dpdk}}}
  links:
    - {name: in, kind: %s, endpoints: ["dut:in", "gen:tx"]}
    - {name: out, kind: %s, endpoints: ["dut:out", "gen:rx"]}
traffic: {from: "gen:tx", to: "gen:rx", backend: dpdk, rate_pps: 500, frame_bytes: %d}
`, driver, memory, kind, kind, frameBytes)
}

// conflict is why a lab cannot be planned; empty if it can.
func conflict(t *testing.T, text string) string {
	t.Helper()
	_, err := labs.TryPlan(t, text, func(*host.Inventory) {})
	if err != nil && !errors.As(err, new(*plan.Conflict)) {
		t.Fatal(err)
	}
	return fmt.Sprint(err)
}

// TestTheLargestMTUOfAFPacket: engines open the ports that the plan allows.
func TestTheLargestMTUOfAFPacket(t *testing.T) {
	labtest.Root(t)
	wide := func(mtu int) string {
		text := strings.ReplaceAll(forwardLab("veth", "af_packet", 1518, "512MiB"), "kind: veth", fmt.Sprintf("kind: veth, mtu: %d", mtu))
		return strings.Replace(text, "tbleast", "tbwide", 1)
	}
	up(t, wide(32640))
	if refused := conflict(t, wide(32641)); !strings.Contains(refused, "an MTU of at most 32640") {
		t.Errorf("with one more: %s", refused)
	}
}

// TestTheLeastMemoryIsEnough: where the plan refuses dpdk.memory, an engine opens its ports with
// the least memory that the plan names, and where the plan accepts 32 MiB, with these.
func TestTheLeastMemoryIsEnough(t *testing.T) {
	labtest.Root(t)
	suggested := regexp.MustCompile(`--set dpdk\.memory=([0-9]+MiB)`)
	for _, c := range []struct {
		kind, driver string
		frameBytes   int
	}{
		{"memif", "af_packet", 64}, {"memif", "af_packet", 1518}, {"memif", "af_packet", 9018},
		{"veth", "af_packet", 1518}, {"veth", "af_packet", 2200}, {"veth", "af_packet", 9018},
		{"veth", "af_xdp", 1518}, {"veth", "af_xdp", 3392},
	} {
		t.Run(fmt.Sprintf("%s by %s, %d bytes", c.kind, c.driver, c.frameBytes), func(t *testing.T) {
			memory := "32MiB"
			if refused := suggested.FindStringSubmatch(conflict(t, forwardLab(c.kind, c.driver, c.frameBytes, memory))); refused != nil {
				memory = refused[1]
			}
			t.Log(memory)
			up(t, forwardLab(c.kind, c.driver, c.frameBytes, memory))
		})
	}
}
