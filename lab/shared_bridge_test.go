package lab

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/host"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestABridgeWithoutPortsKeepsItsAddress: two labs share a bridge of the host that has no port yet, are as planned, and
// leave its MAC address as it was.
func TestABridgeWithoutPortsKeepsItsAddress(t *testing.T) {
	labtest.Root(t)
	const bridge = "tbempty"
	labtest.Sh(t, "ip", "link", "add", bridge, "type", "bridge")
	t.Cleanup(func() { labtest.Sh(t, "ip", "link", "del", bridge) })
	labtest.Sh(t, "ip", "addr", "add", "172.31.78.1/24", "dev", bridge)
	labtest.Sh(t, "ip", "link", "set", bridge, "up")
	mac := func() string {
		t.Helper()
		device, err := netlink.LinkByName(bridge)
		if err != nil {
			t.Fatal(err)
		}
		return device.Attrs().HardwareAddr.String()
	}
	before := mac()
	var all []*Lab
	for i, addresses := range []string{"172.31.78.10-172.31.78.11", "172.31.78.20-172.31.78.21"} {
		text := labs.Pair(fmt.Sprint("tbempty", i), fmt.Sprintf("management: {mode: shared, uplink: %s, addresses: %q}\n", bridge, addresses))
		found, err := link.ReadUplink(bridge)
		if err != nil {
			t.Fatal(err)
		}
		lab, err := Up(context.Background(), UpOptions{
			Plan: labs.PlanOn(t, text, func(inv *host.Inventory) { inv.Uplinks = append(inv.Uplinks, *found) }), Experiment: []byte(text),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := lab.Down(context.Background()); err != nil && !strings.Contains(err.Error(), "does not exist") {
				t.Error(err)
			}
		})
		all = append(all, lab)
	}
	for _, lab := range all {
		asPlanned(t, lab)
	}
	for _, lab := range all {
		if err := lab.Down(context.Background()); err != nil {
			t.Fatal(err)
		}
		if now := mac(); now != before {
			t.Errorf("the bridge had the MAC address %s, and has %s", before, now)
		}
	}
}
