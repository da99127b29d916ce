package main

import (
	"strings"
	"testing"

	"nines.dev/nines/exit"
)

// TestPlanHardware: every run of the example with virtual functions can be planned on a host with
// such cards, and table and steps name the functions; on other hosts the error says what is
// missing.
func TestPlanHardware(t *testing.T) {
	const file = "../../examples/sriov.yaml"
	for run, want := range map[string][]string{
		"1": {"VF 0 of eth0 (0000:41:10.0), VLAN", "1: dut:out", "assumed to be the ends of one cable"},
		"3": {"driver vfio-pci", "VF 1 of eth1 (0000:42:10.2)", "hugepages"},
	} {
		code, table, stderr := call("plan", file, "--host", hostFile("laboratory"), "--run", run)
		if code != exit.Done {
			t.Fatalf("run %s: exit code %d: %s", run, code, stderr)
		}
		for _, text := range want {
			if !strings.Contains(table, text) {
				t.Errorf("run %s has no %q:\n%s", run, text, table)
			}
		}
	}
	code, _, stderr := call("plan", file, "--host", hostFile("microvm"))
	if code != exit.Lacks || !strings.Contains(stderr, "link in needs virtual functions of a network card") || !strings.Contains(stderr, "nines vlab run") {
		t.Errorf("without a card: exit code %d: %s", code, stderr)
	}
	code, text, stderr := call("plan", file, "--host", hostFile("laboratory"), "--format", "json", "--set", "links.in.sriov.ports=[eth1]", "--set", "links.in.sriov.vlan=401")
	if code != exit.Done || !strings.Contains(text, `"port": "0000:42:00.0"`) || !strings.Contains(text, `"vlan": 401`) {
		t.Errorf("with ports of its own: exit code %d: %s%s", code, stderr, text)
	}
}
