package lab

import (
	"os/exec"
	"strings"
	"testing"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestLabSharedNetworkOnACard: a card with a filter for addresses, and the kernels of both Debians.
//
//	a:mgmt, b:mgmt ──bridge── eth0 10.77.0.1/24 ══cable══ eth1 10.77.0.254/24, in a namespace: another machine
func TestLabSharedNetworkOnACard(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootNew, labtest.BootMain)
	labtest.Root(t)
	const far = "site-card-far"
	labtest.Sh(t, "ip", "netns", "add", far)
	t.Cleanup(func() {
		labtest.Sh(t, "ip", "-n", far, "link", "set", "eth1", "down")
		labtest.Sh(t, "ip", "-n", far, "link", "set", "eth1", "netns", "1") // it would come back some time after its namespace goes
		labtest.Sh(t, "ip", "netns", "del", far)
		labtest.Sh(t, "ip", "addr", "flush", "dev", "eth0")
		labtest.Sh(t, "ip", "link", "set", "eth0", "down")
	})
	labtest.Sh(t, "ip", "link", "set", "eth1", "netns", far)
	labtest.Sh(t, "ip", "-n", far, "addr", "add", "10.77.0.254/24", "dev", "eth1")
	labtest.Sh(t, "ip", "-n", far, "link", "set", "eth1", "up")
	labtest.Sh(t, "ip", "addr", "add", "10.77.0.1/24", "dev", "eth0")
	labtest.Sh(t, "ip", "link", "set", "eth0", "up")
	labtest.Eventually(t, "the cable carries, and the addresses are settled", func() bool {
		return exec.Command("ping", "-c1", "-W1", "10.77.0.254").Run() == nil && !strings.Contains(labtest.Sh(t, "ip", "addr", "show", "eth0"), "tentative")
	})
	atCard := func() string {
		return labtest.Sh(t, "ip", "addr", "show", "eth0") + labtest.Sh(t, "ip", "route", "show", "dev", "eth0") + labtest.Sh(t, "tc", "qdisc", "show", "dev", "eth0") +
			labtest.Sh(t, "tc", "filter", "show", "dev", "eth0", "ingress") + labtest.Sh(t, "tc", "filter", "show", "dev", "eth0", "egress")
	}
	before := atCard()
	lab := up(t, strings.Replace(labs.Pair("tbscard", "management: {mode: shared, uplink: eth0, mac: pos}\n"), "b: {runtime: netns}", "b: {runtime: lxc}", 1))
	for _, node := range []string{"a", "b"} {
		for _, other := range []string{"10.77.0.1", "10.77.0.254"} {
			labs.Pinged(t, node+" to "+other, in(t, lab, node, "ping", "-c3", "-W5", other))
		}
		address := lab.Plan().ManagementAddress(*lab.Plan().Node(node))
		labs.Pinged(t, "another machine to "+node, labtest.Sh(t, "ip", "netns", "exec", far, "ping", "-c3", "-W5", address))
		labs.Pinged(t, "the host to "+node, labtest.Sh(t, "ping", "-c3", "-W5", address))
	}
	labs.Pinged(t, "the host to another machine", labtest.Sh(t, "ping", "-c3", "-W5", "10.77.0.254"))
	// The card has room for the nodes' addresses: it need not receive everything.
	if out := labtest.Sh(t, "bridge", "fdb", "show", "dev", "eth0"); !strings.Contains(out, "52:54:00:00:00:02 self permanent") || !strings.Contains(out, "52:54:00:00:00:03 self permanent") {
		t.Errorf("the card receives for: %s", out)
	}
	if out := labtest.Sh(t, "ip", "-d", "link", "show", "eth0"); !strings.Contains(out, " promiscuity 0 ") {
		t.Errorf("the card receives everything: %s", out)
	}
	asPlanned(t, lab)
	down(t, lab)
	if now := atCard(); now != before {
		t.Errorf("the card was\n%s\nand is\n%s", before, now)
	}
	if out := labtest.Sh(t, "bridge", "fdb", "show", "dev", "eth0"); strings.Contains(out, "52:54:00:00:00:0") {
		t.Errorf("the card still receives for: %s", out)
	}
}
