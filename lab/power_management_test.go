package lab

import (
	"crypto/tls"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestPowerOnTheManagementNetwork: the host and the nodes are answered there, and what comes by another
// interface of the host is not.
//
//	dut:mgmt, load:mgmt, far:mgmt ──bridge── PREFIX-mgmt: this host :tbpow-h ──veth── tbpow-s: a stranger
func TestPowerOnTheManagementNetwork(t *testing.T) {
	labtest.Root(t)
	needClient(t, "ipmitool")
	needClient(t, "redfishtool")
	text, password := powerText(t, "lxc", "management")
	text = strings.Replace(text, "name: tbpowlxc", "name: tbpowmgmt", 1) + "management: {dns: false}\n"
	lab := up(t, text)
	m := lab.Plan().Management
	c := console{t: t, address: m.Address, password: password, port: 6001}
	pid := settled(t, lab, "dut", true)
	reset := func(who, said string, code int) {
		t.Helper()
		if code != 0 {
			t.Fatalf("%s: exit code %d: %s", who, code, said)
		}
		before := pid
		labtest.Eventually(t, "reset by "+who, func() bool {
			pid = settled(t, lab, "dut", true)
			return pid != before
		})
	}
	said, code := c.ipmitool(17, "power", "reset")
	reset("the host", said, code)
	ipmitool := []string{"ipmitool", "-I", "lanplus", "-N", "10", "-C", "17", "-H", m.Address, "-p", "6001", "-U", "admin", "-f", password, "power"}
	reset("a node", in(t, lab, "load", append(ipmitool, "reset")...), 0)
	if said := in(t, lab, "far", "redfishtool", "-r", m.Address+":8443", "-u", "admin", "-p", labs.PowerPassword, "-S", "Always", "-A", "Basic", "-T", "60", "Systems", "-I", "dut"); !strings.Contains(said, `"On"`) {
		t.Errorf("Redfish says to a node: %s", said)
	}
	redfish := func() error {
		conn, err := net.Dial("tcp", m.Address+":8443") // on this thread, so in its namespace
		if err != nil {
			return err
		}
		defer conn.Close()
		return tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).Handshake()
	}
	if err := redfish(); err != nil {
		t.Errorf("Redfish for the host: %v", err)
	}

	stranger, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	run := func(arguments ...string) (string, error) {
		out, err := exec.Command(arguments[0], arguments[1:]...).CombinedOutput()
		return string(out), err
	}
	ip := func(arguments string) {
		t.Helper()
		if said, err := run(append([]string{"ip"}, strings.Fields(arguments)...)...); err != nil {
			t.Fatalf("ip %s: %v: %s", arguments, err, said)
		}
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name = "tbpow-h"
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attributes, PeerName: "tbpow-s", PeerNamespace: netlink.NsFd(stranger.FD())}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = run("ip", "link", "del", "tbpow-h") })
	ip("addr add 10.255.77.1/30 dev tbpow-h")
	ip("link set tbpow-h up")
	if err := stranger.Do(func() error {
		ip("addr add 10.255.77.2/30 dev tbpow-s")
		ip("link set tbpow-s up")
		ip("route add " + m.Subnet + " via 10.255.77.1")
		// The host answers there to what is not the lab's.
		if said, err := run("ping", "-c1", "-W20", m.Address); err != nil {
			t.Fatalf("the test is none, as a stranger does not reach the host: %s", said)
		}
		ipmitool[4] = "1"
		if said, err := run(append(ipmitool, "status")...); err == nil {
			t.Errorf("IPMI says to a stranger: %s", said)
		}
		if err := redfish(); err == nil {
			t.Error("Redfish speaks to a stranger")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if said, code := c.ipmitool(17, "power", "status"); code != 0 || !strings.Contains(said, "is on") {
		t.Errorf("in the end: exit code %d: %s", code, said)
	}
}
