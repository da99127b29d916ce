package dryrun

import (
	"strings"
	"testing"

	"nines.dev/nines/test/plans"
)

// TestStepsOfHardware: a dry run lists ports, cables, functions and their drivers before the nodes,
// and interfaces that are moved into nodes after them.
func TestStepsOfHardware(t *testing.T) {
	p := plans.Of(t, `name: steps
topology:
  nodes: {a: {}, b: {runtime: lxc, app: {kind: reflect, backend: dpdk}}}
  links: [{name: wire, kind: sriov, endpoints: ["a:x", "b:y"], sriov: {vlan: 401, rate: 1Gbit/s, trust: false, spoof_check: true}}]
traffic: {from: "a:x", to: "a:x", backend: raw, rate_pps: 500}
`)
	all := strings.Join(Steps(p), "\n")
	at := 0
	for _, want := range []string{
		"port eth0 (0000:41:00.0): make 7 virtual functions where it has none, and set it up",
		"ports eth0 and eth1: test by a frame that a cable joins them",
		"link wire: set VF 0 of eth0 (0000:41:10.0) up: the address of a:x, VLAN 401, trust off, spoof check on, at most 1000 Mbit/s",
		"link wire: give 0000:42:10.0 to the driver vfio-pci, for a program in b",
		"node b: make a root file system",
		"link wire: move the interface of 0000:41:10.0 into a as x, MTU 1500",
	} {
		i := strings.Index(all, want)
		if i < at {
			t.Errorf("%q is missing, or too early, in\n%s", want, all)
			continue
		}
		at = i
	}
	if strings.Contains(all, "move the interface of 0000:42:10.0") {
		t.Errorf("what DPDK has is moved:\n%s", all)
	}
}
