package labs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// Laboratory is for tests in the virtual laboratory: it gives the test root and a state folder, and
// checks at the end that the cards are unchanged.
func Laboratory(t *testing.T) {
	t.Helper()
	LaboratoryOn(t)
}

// LaboratoryOn is Laboratory for other boots than the main one.
func LaboratoryOn(t *testing.T, boots ...string) {
	t.Helper()
	labtest.VirtualLab(t, boots...)
	labtest.Root(t)
	before := traces.Cards(t)
	t.Cleanup(func() {
		if changes := before.Changes(t); changes != "" {
			t.Errorf("the cards have changed:\n%s", changes)
		}
		if left, _ := os.ReadDir(pci.ClaimsDir); len(left) > 0 {
			t.Errorf("claims are left: %v", left)
		}
	})
}

// WithOthers makes VFs of the left port for someone else: VF 0 is in use; VF 1 has its own name
// and settings, and is free.
func WithOthers(t *testing.T) {
	t.Helper()
	file := "/sys/class/net/" + labtest.LeftPort + "/device/sriov_numvfs"
	labtest.Sh(t, "sh", "-c", "echo 3 > "+file)
	t.Cleanup(func() { labtest.Sh(t, "sh", "-c", "echo 0 > "+file) })
	labtest.Sh(t, "ip", "link", "set", labtest.LeftPort, "vf", "1", "mac", "02:11:22:33:44:55", "vlan", "77", "spoofchk", "off")
	name := func(index int) string {
		names, err := filepath.Glob(fmt.Sprintf("/sys/class/net/%s/device/virtfn%d/net/*", labtest.LeftPort, index))
		if err != nil || len(names) != 1 {
			t.Fatalf("VF %d has the interfaces %v, %v", index, names, err)
		}
		return filepath.Base(names[0])
	}
	labtest.Sh(t, "ip", "link", "set", name(0), "up")
	labtest.Sh(t, "ip", "link", "set", name(1), "name", "keepme")
	labtest.Sh(t, "ip", "link", "set", "keepme", "mtu", "1400")
	labtest.Sh(t, "ip", "link", "set", labtest.LeftPort, "up")
	t.Cleanup(func() { labtest.Sh(t, "ip", "link", "set", labtest.LeftPort, "down") })
	// Later comparisons find one, too.
	labtest.Within(t, 30*time.Second, name(0)+" has a carrier", func() bool {
		text, _ := os.ReadFile("/sys/class/net/" + name(0) + "/operstate")
		return string(text) == "up\n"
	})
}

// AroundOthers has both its ends on that port, in the VF of others that is free and in one that nobody has.
const AroundOthers = `name: tbothers
topology:
  nodes: {a: {}, b: {app: {kind: reflect, backend: dpdk}}}
  links: [{name: wire, kind: sriov, endpoints: ["a:x", "b:y"], sriov: {ports: [eth0]}}]
dpdk: {hugepages: none}
traffic: {from: "a:x", to: "a:x", backend: raw, rate_pps: 500, frame_bytes: 64}
`
