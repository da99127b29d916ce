package lab

import (
	"os/exec"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// TestLabSharedNetworkOnACard: a card with a filter for addresses, and the kernels of both Debians.
//
//	a:mgmt, b:mgmt ──bridge── eth0 10.77.0.1/24 ══cable══ eth1 10.77.0.254/24, in a namespace: another machine
func TestLabSharedNetworkOnACard(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootNew, labtest.BootMain)
	labtest.Root(t)
	const far = "site-card-far"
	sh(t, "ip", "netns", "add", far)
	t.Cleanup(func() {
		sh(t, "ip", "-n", far, "link", "set", "eth1", "down")
		sh(t, "ip", "-n", far, "link", "set", "eth1", "netns", "1") // it would come back some time after its namespace goes
		sh(t, "ip", "netns", "del", far)
		sh(t, "ip", "addr", "flush", "dev", "eth0")
		sh(t, "ip", "link", "set", "eth0", "down")
	})
	sh(t, "ip", "link", "set", "eth1", "netns", far)
	sh(t, "ip", "-n", far, "addr", "add", "10.77.0.254/24", "dev", "eth1")
	sh(t, "ip", "-n", far, "link", "set", "eth1", "up")
	sh(t, "ip", "addr", "add", "10.77.0.1/24", "dev", "eth0")
	sh(t, "ip", "link", "set", "eth0", "up")
	eventually(t, "the cable carries, and the addresses are settled", func() bool {
		return exec.Command("ping", "-c1", "-W1", "10.77.0.254").Run() == nil && !strings.Contains(sh(t, "ip", "addr", "show", "eth0"), "tentative")
	})
	atCard := func() string {
		return sh(t, "ip", "addr", "show", "eth0") + sh(t, "ip", "route", "show", "dev", "eth0") + sh(t, "tc", "qdisc", "show", "dev", "eth0") +
			sh(t, "tc", "filter", "show", "dev", "eth0", "ingress") + sh(t, "tc", "filter", "show", "dev", "eth0", "egress")
	}
	before := atCard()
	lab := up(t, strings.Replace(pairLab("tbscard", "management: {mode: shared, uplink: eth0, mac: pos}\n"), "b: {runtime: netns}", "b: {runtime: lxc}", 1))
	for _, node := range []string{"a", "b"} {
		for _, other := range []string{"10.77.0.1", "10.77.0.254"} {
			pinged(t, node+" to "+other, in(t, lab, node, "ping", "-c3", "-W5", other))
		}
		address := lab.Plan().ManagementAddress(node)
		pinged(t, "another machine to "+node, sh(t, "ip", "netns", "exec", far, "ping", "-c3", "-W5", address))
		pinged(t, "the host to "+node, sh(t, "ping", "-c3", "-W5", address))
	}
	pinged(t, "the host to another machine", sh(t, "ping", "-c3", "-W5", "10.77.0.254"))
	// The card has room for the nodes' addresses: it need not receive everything.
	if out := sh(t, "bridge", "fdb", "show", "dev", "eth0"); !strings.Contains(out, "52:54:00:00:00:02 self permanent") || !strings.Contains(out, "52:54:00:00:00:03 self permanent") {
		t.Errorf("the card receives for: %s", out)
	}
	if out := sh(t, "ip", "-d", "link", "show", "eth0"); !strings.Contains(out, " promiscuity 0 ") {
		t.Errorf("the card receives everything: %s", out)
	}
	asPlanned(t, lab)
	down(t, lab)
	if now := atCard(); now != before {
		t.Errorf("the card was\n%s\nand is\n%s", before, now)
	}
	if out := sh(t, "bridge", "fdb", "show", "dev", "eth0"); strings.Contains(out, "52:54:00:00:00:0") {
		t.Errorf("the card still receives for: %s", out)
	}
}
