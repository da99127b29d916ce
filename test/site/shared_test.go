package site

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab"
	"nines.dev/nines/test/killed"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// sharedLab has two nodes on the site's network beside a measured link.
func sharedLab(name, management string) string {
	return fmt.Sprintf(`name: %s
topology:
  nodes: {a: {runtime: netns}, b: {runtime: lxc}}
  links: [{name: v, kind: veth, endpoints: ["a:x", "b:x"]}]
management: %s
`, name, management)
}

// TestASharedNetworkIsTheSites: nodes, host and others reach each other as if the nodes were at the same
// switch, nodes get what the site's own server of addresses has for them, and no other answers there.
func TestASharedNetworkIsTheSites(t *testing.T) {
	labs.NeedLXC(t)
	labs.NeedSSHServer(t)
	s := newSite(t, "whole").withNines()
	s.dhcp(map[string]string{"52:54:00:00:00:03": "10.77.0.3"})
	before, stop := s.state(), s.steady("tcp")
	password := s.file("password", "of-the-site-1234")
	file := s.up("tbshared", sharedLab("tbshared", "{mode: shared, uplink: up0, mac: pos}")+
		"power: {protocols: [redfish], address: management, redfish_scheme: http, user: admin, password_file: "+password+"}\n")
	if out := s.nines("plan", file); !strings.Contains(out, "management: 10.77.0.0/24, this host is 10.77.0.1 by its interface up0, which the nodes share") {
		t.Errorf("the plan: %s", out)
	}
	for node, others := range map[string][]string{"a": {"10.77.0.1", "10.77.0.254", "b.mgmt"}, "b": {"10.77.0.1", "10.77.0.254", "a.mgmt"}} {
		for _, other := range others {
			labs.Pinged(t, node+" to "+other, s.nines("exec", "--lab", "tbshared", node, "--", "ping", "-c3", "-W5", other))
		}
	}
	for _, node := range []string{"10.77.0.2", "10.77.0.3"} {
		labs.Pinged(t, "far to "+node, s.in(s.far, "ping", "-c3", "-W5", node))
		labs.Pinged(t, "the host to "+node, s.in(s.host, "ping", "-c3", "-W5", node))
	}
	if out := s.in(s.far, "ip", "neigh", "show", "10.77.0.2"); !strings.Contains(out, "52:54:00:00:00:02") {
		t.Errorf("far knows node a as %s", out)
	}
	if out := s.nines("exec", "--lab", "tbshared", "b", "--", "udhcpc", "-i", "mgmt", "-n", "-q", "-f", "-s", "/bin/true"); !strings.Contains(out, "lease of 10.77.0.3 obtained from 10.77.0.254") {
		t.Errorf("the site's server of addresses says: %s", out)
	}
	// Many large packets each way: to the host, to far, and through SSH from both.
	const amount = "4000000"
	for _, listener := range []struct{ ns, address string }{{s.host, "10.77.0.1:7777"}, {s.far, "10.77.0.254:7777"}} {
		got := s.sink(listener.ns, listener.address)
		host, port, _ := net.SplitHostPort(listener.address)
		s.nines("exec", "--lab", "tbshared", "a", "--", "bash", "-c", "head -c "+amount+" /dev/zero >/dev/tcp/"+host+"/"+port)
		if n := <-got; fmt.Sprint(n) != amount {
			t.Errorf("%s received %d bytes of %s", listener.address, n, amount)
		}
	}
	if out := s.nines("ssh", "--lab", "tbshared", "a", "--", "head -c "+amount+" /dev/zero"); fmt.Sprint(len(out)) != amount {
		t.Errorf("by SSH %d bytes of %s came", len(out), amount)
	}
	config := s.file("ssh.config", s.nines("inspect", "tbshared", "--format", "ssh"))
	if out := s.in(s.far, "ssh", "-F", config, "a.tbshared", "--", "head -c "+amount+" /dev/zero"); fmt.Sprint(len(out)) != amount {
		t.Errorf("by SSH from another machine %d bytes of %s came", len(out), amount)
	}
	const system = "http://10.77.0.1:8443/redfish/v1/Systems/a"
	if out := s.in(s.far, "curl", "-sS", "--max-time", "20", "-u", "admin:of-the-site-1234", system); !strings.Contains(out, `"PowerState": "On"`) && !strings.Contains(out, `"PowerState":"On"`) {
		t.Errorf("power control says to another machine: %s", out)
	}
	var inspected struct {
		LinkList []lab.LinkState `json:"link_list"`
	}
	if err := json.Unmarshal([]byte(s.nines("inspect", "tbshared", "--format", "json")), &inspected); err != nil {
		t.Fatal(err)
	}
	if len(inspected.LinkList) != 2 {
		t.Errorf("the links are %+v", inspected.LinkList)
	}
	for _, l := range inspected.LinkList {
		if len(l.Programs) > 0 {
			t.Errorf("link %s has the programs %+v", l.Name, l.Programs)
		}
	}
	// A second lab beside it, whose groups reach the first's nodes exactly once.
	s.up("tbshared2", sharedLab("tbshared2", "{mode: shared, uplink: up0, addresses: 10.77.0.50-10.77.0.51}"))
	labs.Pinged(t, "a of the second to a of the first", s.nines("exec", "--lab", "tbshared2", "a", "--", "ping", "-c3", "-W5", "10.77.0.2"))
	for _, address := range []string{"10.77.0.2", "10.77.0.50", "10.77.0.1", "10.77.0.254"} {
		for _, lab := range []string{"tbshared", "tbshared2"} {
			if lab == "tbshared2" && address == "10.77.0.50" {
				continue
			}
			if out := s.nines("exec", "--lab", lab, "b", "--", "arping", "-b", "-c", "3", "-I", "mgmt", address); !strings.Contains(out, "Received 3 response") {
				t.Errorf("b of %s asks three times who has %s: %s", lab, address, out)
			}
		}
	}
	if out := s.refused(exit.Wrong, "up", s.file("tbshared3", sharedLab("tbshared3", "{mode: shared, uplink: up0, addresses: 10.77.0.51-10.77.0.60}"))); !strings.Contains(out, "10.77.0.51/24") || !strings.Contains(out, "tbshared2") {
		t.Errorf("a third lab with an address of the second: %s", out)
	}
	s.nines("down", "tbshared")
	labs.Pinged(t, "the second, without the first", s.in(s.far, "ping", "-c3", "-W5", "10.77.0.50"))
	s.nines("down", "tbshared2")
	stop()
	s.asBefore("down", before)
}

// TestASharedNetworkIsMended: what someone removes from the uplink is reported, and apply restores it. What is
// not the lab's is reported too, and stays.
func TestASharedNetworkIsMended(t *testing.T) {
	s := newSite(t, "mend").withNines()
	s.in(s.host, "tc", "qdisc", "add", "dev", s.uplink, "clsact")
	s.in(s.host, "tc", "filter", "add", "dev", s.uplink, "ingress", "prio", "7", "protocol", "ip", "u32", "match", "u32", "0", "0", "flowid", "1:1")
	before, stop := s.state(), s.steady("udp")
	text := labs.Pair("tbsmend", "prefix: tbsmend\nmanagement: {mode: shared, uplink: up0, addresses: 10.77.0.20-10.77.0.29}\n")
	file := s.up("tbsmend", text)
	reaches := func(what string) {
		t.Helper()
		labs.Pinged(t, what, s.in(s.far, "ping", "-c3", "-W5", "10.77.0.20"))
		labs.Pinged(t, what, s.in(s.host, "ping", "-c3", "-W5", "10.77.0.21"))
	}
	reaches("up")
	if out := s.nines("check", "tbsmend"); strings.Contains(out, "up0") {
		t.Errorf("a lab that is whole: %s", out)
	}
	mac := strings.Fields(s.in(s.far, "ip", "neigh", "show", "10.77.0.20"))[4]
	for _, harm := range []struct {
		argv []string
		want string
	}{
		{[]string{"bridge", "fdb", "del", mac, "dev", s.uplink, "self"}, "no longer receives what is for " + mac},
		{[]string{"ip", "link", "del", "tbsmend-mgmt"}, "tbsmend-mgmt, is gone"},
		{[]string{"tc", "filter", "del", "dev", s.uplink, "egress"}, "the program from_host at up0 is gone"},
		{[]string{"tc", "filter", "del", "dev", "tbsmend-mgmt", "ingress"}, "the program from_nodes at tbsmend-mgmt is gone"},
	} {
		s.in(s.host, harm.argv...)
		if out := s.refused(exit.Failed, "check", "tbsmend"); !strings.Contains(out, harm.want) {
			t.Errorf("after %v: %s", harm.argv, out)
		}
		s.nines("apply", file)
		reaches(fmt.Sprintf("after %v, mended", harm.argv))
	}
	// Nodes come and go.
	more := s.file("more", strings.Replace(text, "b: {runtime: netns}", "b: {runtime: netns}, c: {runtime: netns}", 1))
	s.nines("apply", more)
	labs.Pinged(t, "a node that came", s.in(s.far, "ping", "-c3", "-W5", "10.77.0.22"))
	gone := strings.Fields(s.in(s.far, "ip", "neigh", "show", "10.77.0.22"))[4]
	s.nines("apply", file)
	// Another machine gets the address of the node that went, and its MAC address.
	s.in(s.far, "sysctl", "-w", "net.ipv4.conf.all.arp_ignore=1")
	s.ip("-n", s.far, "link", "add", "link", "net0", "name", "other0", "address", gone, "type", "macvlan", "mode", "bridge")
	s.ip("-n", s.far, "addr", "add", "10.77.0.22/24", "dev", "other0")
	s.ip("-n", s.far, "link", "set", "other0", "up")
	labs.Pinged(t, "another machine with the addresses of a node that went", s.in(s.host, "ping", "-c3", "-W5", "10.77.0.22"))
	s.ip("-n", s.far, "link", "del", "other0")
	reaches("after nodes came and went")
	s.nines("restart", "--lab", "tbsmend", "a")
	reaches("after a restart")
	s.nines("down", "tbsmend")
	stop()
	s.asBefore("down", before)
}

// TestForeignProgramsAtTheUplinkStay: also those that came after nines' own.
func TestForeignProgramsAtTheUplinkStay(t *testing.T) {
	s := newSite(t, "foreign").withNines()
	s.up("tbsforeign", labs.Pair("tbsforeign", "prefix: tbsfor\nmanagement: {mode: shared, uplink: up0, addresses: 10.77.0.20-10.77.0.29}\n"))
	s.in(s.host, "tc", "filter", "add", "dev", s.uplink, "egress", "prio", "7", "protocol", "ip", "u32", "match", "u32", "0", "0", "flowid", "1:1")
	if out := s.nines("down", "tbsforeign"); !strings.Contains(out, "clsact of up0 is kept") {
		t.Errorf("down says: %s", out)
	}
	if out := s.in(s.host, "tc", "filter", "show", "dev", s.uplink, "egress"); !strings.Contains(out, "u32") || strings.Contains(out, "bpf") {
		t.Errorf("left at the uplink: %s", out)
	}
}

// TestAnAddressThatIsTakenIsRefused: someone on the network has it.
func TestAnAddressThatIsTakenIsRefused(t *testing.T) {
	s := newSite(t, "taken").withNines()
	s.ip("-n", s.far, "addr", "add", "10.77.0.21/24", "dev", "net0")
	before := s.state()
	file := s.file("tbstaken", labs.Pair("tbstaken", "prefix: tbstaken\nmanagement: {mode: shared, uplink: up0, addresses: 10.77.0.20-10.77.0.29}\n"))
	out := s.refused(exit.Wrong, "up", file)
	if !strings.Contains(out, "10.77.0.21, of node b, is in use by the machine with the MAC address") || strings.Contains(out, "of node a") {
		t.Errorf("up says: %s", out)
	}
	s.asBefore("an address that is taken", before)
	if left := traces.Left(t, "tbstaken", os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestASharedNetworkOnABridge: the pair is a port of the host's own bridge, which keeps its MAC address and
// its MTU.
func TestASharedNetworkOnABridge(t *testing.T) {
	s := newSite(t, "bridge").withNines()
	s.ip("-n", s.host, "addr", "flush", "dev", s.uplink)
	s.ip("-n", s.host, "link", "add", "br0", "type", "bridge")
	s.ip("-n", s.host, "link", "set", s.uplink, "master", "br0")
	s.ip("-n", s.host, "addr", "add", "10.77.0.1/24", "dev", "br0")
	s.ip("-n", s.host, "link", "set", "br0", "up")
	labtest.Eventually(t, "the bridge forwards", func() bool {
		return s.within(s.host, "ping", "-c1", "-W1", "10.77.0.254").Run() == nil
	})
	file := func(uplink string) string {
		return s.file("tbsbr", labs.Pair("tbsbr", "prefix: tbsbr\nmanagement: {mode: shared, uplink: "+uplink+", addresses: 10.77.0.20-10.77.0.29}\n"))
	}
	if out := s.refused(exit.Lacks, "plan", file(s.uplink)); !strings.Contains(out, "it is a port of the bridge br0") || !strings.Contains(out, "write uplink: br0") {
		t.Errorf("a port of a bridge: %s", out)
	}
	ofBridge := func() string { return s.in(s.host, "ip", "-br", "link", "show", "br0") }
	before, was, stop := s.in(s.host, "bridge", "link"), ofBridge(), s.steady("udp")
	s.up("tbsbr", labs.Pair("tbsbr", "prefix: tbsbr\nmanagement: {mode: shared, uplink: br0, addresses: 10.77.0.20-10.77.0.29}\n"))
	labs.Pinged(t, "far to node a", s.in(s.far, "ping", "-c3", "-W5", "10.77.0.20"))
	labs.Pinged(t, "the host to node b", s.in(s.host, "ping", "-c3", "-W5", "10.77.0.21"))
	if now := ofBridge(); now != was {
		t.Errorf("the bridge was %s and is %s", was, now)
	}
	s.ip("-n", s.host, "link", "set", "tbsbr-mgmt", "nomaster")
	if out := s.refused(exit.Failed, "check", "tbsbr"); !strings.Contains(out, "tbsbr-mgmt is no longer a port of it") {
		t.Errorf("check: %s", out)
	}
	s.nines("apply", file("br0"))
	labs.Pinged(t, "far to node a, mended", s.in(s.far, "ping", "-c3", "-W5", "10.77.0.20"))
	s.nines("down", "tbsbr")
	stop()
	if now := s.in(s.host, "bridge", "link"); now != before || ofBridge() != was {
		t.Errorf("the bridge's ports were %s and are %s", before, now)
	}
}

// TestWhatCannotBeShared: it is refused before anything is made, with the reason.
func TestWhatCannotBeShared(t *testing.T) {
	s := newSite(t, "no").withNines()
	s.ip("-n", s.host, "link", "add", "link", s.uplink, "name", "mv0", "type", "macvlan", "mode", "bridge")
	s.ip("-n", s.host, "link", "add", "idle0", "type", "veth", "peer", "name", "idle1")
	s.ip("-n", s.host, "addr", "add", "10.78.0.1/24", "dev", "idle0")
	for _, c := range []struct {
		uplink, want string
		before       []string
	}{
		{"none0", "no such interface", nil},
		{"lo", "it is not an Ethernet interface", nil},
		{"mv0", "it is a macvlan", nil},
		{"idle0", "it is down; ip link set idle0 up", nil},
		{"idle0", "it has no carrier", []string{"ip", "link", "set", "idle0", "up"}},
		{"idle1", "it has no IPv4 address", []string{"ip", "link", "set", "idle1", "up"}},
	} {
		if c.before != nil {
			s.in(s.host, c.before...)
		}
		out := s.refused(exit.Lacks, "up", s.file("tbsno", labs.Pair("tbsno", "prefix: tbsno\nmanagement: {mode: shared, uplink: "+c.uplink+", mac: pos}\n")))
		if !strings.Contains(out, c.want) {
			t.Errorf("uplink %s: %s", c.uplink, out)
		}
	}
	s.in(s.host, "tc", "qdisc", "add", "dev", s.uplink, "ingress")
	s.settle()
	before := s.state()
	out := s.refused(exit.Wrong, "up", s.file("tbsno", labs.Pair("tbsno", "prefix: tbsno\nmanagement: {mode: shared, uplink: up0, mac: pos}\n")))
	if !strings.Contains(out, "up0 has the queueing discipline ingress") {
		t.Errorf("an uplink with ingress: %s", out)
	}
	s.asBefore("an uplink with ingress", before)
}

// TestNodesCannotHarmTheSitesNetwork: frames from other addresses, with a VLAN's tag, or to the addresses of
// bridges do not leave a node.
func TestNodesCannotHarmTheSitesNetwork(t *testing.T) {
	s := newSite(t, "harm").withNines()
	s.up("tbsharm", labs.Pair("tbsharm", "prefix: tbsharm\nmanagement: {mode: shared, uplink: up0, addresses: 10.77.0.20-10.77.0.29}\n"))
	far, err := netns.Open("/run/netns/" + s.far)
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	own := strings.Fields(s.nines("exec", "--lab", "tbsharm", "a", "--", "cat", "/sys/class/net/mgmt/address"))
	if len(own) != 1 {
		// /sys is of the host's namespace in a netns node.
		own = []string{strings.Fields(s.nines("exec", "--lab", "tbsharm", "a", "--", "ip", "-br", "link", "show", "mgmt"))[2]}
	}
	frame := func(to, from, kind, mark string) string {
		return strings.ReplaceAll(to+from, ":", "") + kind + fmt.Sprintf("%x", mark+strings.Repeat(".", 60-len(mark)))
	}
	send := func(frames ...string) {
		t.Helper()
		script := "import socket,sys\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\ns.bind(('mgmt',0))\nfor f in sys.argv[1:]: s.send(bytes.fromhex(f))\n"
		s.nines(append([]string{"exec", "--lab", "tbsharm", "a", "--", "python3", "-c", script}, frames...)...)
	}
	const broadcast = "ff:ff:ff:ff:ff:ff"
	capture := s.within(s.far, "timeout", "60", "tcpdump", "-i", "net0", "-c", "2", "-A", "-l", "--immediate-mode", "ether proto 0x88b5 or ether proto 0x8100 or ether dst 01:80:c2:00:00:00")
	var seen bytes.Buffer
	capture.Stdout, capture.Stderr = &seen, &seen
	if err := capture.Start(); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "tcpdump listens", func() bool { return strings.Contains(seen.String(), "listening on") })
	send(frame(broadcast, own[0], "88b5", "FIRST"),
		frame(broadcast, "02:00:00:00:00:99", "88b5", "STRANGER"),
		frame(broadcast, own[0], "8100000588b5", "TAGGED"),
		frame("01:80:c2:00:00:00", own[0], "0026424203", "SPANNING"),
		frame(broadcast, own[0], "88b5", "LAST"))
	if err := capture.Wait(); err != nil {
		t.Fatalf("tcpdump: %v: %s", err, seen.String())
	}
	for mark, want := range map[string]bool{"FIRST": true, "LAST": true, "STRANGER": false, "TAGGED": false, "SPANNING": false} {
		if strings.Contains(seen.String(), mark) != want {
			t.Errorf("%s came through: %v, want %v: %s", mark, !want, want, seen.String())
		}
	}
}

// TestDownAfterASharedLabWasKilled: at each kind of step, when it comes up, changes, and goes. The host keeps
// its connection, and in the end everything is as before.
func TestDownAfterASharedLabWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	s := newSite(t, "crash").withNines("faultpoint")
	text := "name: tbscrash\nprefix: tbscrash\ntopology: {nodes: {a: }}\nmanagement: {mode: shared, uplink: up0, addresses: 10.77.0.20-10.77.0.29}\n"
	changed := strings.Replace(text, "a: }", "a: , c: }", 1)
	wrapper := filepath.Join(s.dir, "nines-on-the-host")
	if err := os.WriteFile(wrapper, []byte("#!/bin/sh\nexec nsenter --net=/run/netns/"+s.host+" -- "+s.binary+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := &killed.Crasher{
		T: t, Nines: wrapper, Whole: s.file("tbscrash", text), Changed: s.file("changed", changed),
		StateDir: os.Getenv("NINES_STATE_DIR"), Prefix: "tbscrash", FurtherKinds: true,
	}
	before, stop := s.state(), s.steady("tcp")
	gone := func(what string) {
		t.Helper()
		c.Gone(what)
		s.asBefore(what, before)
		if t.Failed() {
			t.FailNow()
		}
	}
	c.Killed(1, nil, []string{"up", c.Whole}, func(_ int, killed bool, said string) {
		if !killed && s.state() == before {
			t.Fatal("the lab is up, and the host is as before")
		}
		c.Run(0, "down", "tbscrash")
		gone("up killed at " + said)
	})
	c.Killed(1, []string{"up", c.Whole}, []string{"down", "tbscrash"}, func(_ int, killed bool, said string) {
		if killed {
			c.Run(0, "down", "tbscrash")
		}
		gone("down killed at " + said)
	})
	if labtest.Long() {
		c.Killed(1, []string{"up", c.Whole}, []string{"apply", c.Changed}, func(_ int, _ bool, said string) {
			c.Run(0, "down", "tbscrash")
			gone("apply killed at " + said)
		})
	}
	stop()
}

// TestASharedLabIsTakenDownFromElsewhere: the uplink is found where it was, also by a nines in another
// network namespace; and a host that is gone keeps nobody from taking the lab down.
func TestASharedLabIsTakenDownFromElsewhere(t *testing.T) {
	s := newSite(t, "else").withNines()
	before := s.atUplink()
	text := labs.Pair("tbselse", "prefix: tbselse\nmanagement: {mode: shared, uplink: up0, addresses: 10.77.0.20-10.77.0.29}\n")
	s.up("tbselse", text)
	s.ip("-n", s.host, "link", "set", s.uplink, "down")
	s.ip("-n", s.host, "link", "set", s.uplink, "name", "renamed0")
	s.ip("-n", s.host, "link", "set", "renamed0", "up")
	if _, err := lab.Down(context.Background(), "tbselse"); err != nil {
		t.Error(err)
	}
	s.ip("-n", s.host, "link", "set", "renamed0", "down")
	s.ip("-n", s.host, "link", "set", "renamed0", "name", s.uplink)
	s.ip("-n", s.host, "link", "set", s.uplink, "up")
	if now := s.atUplink(); now != before {
		t.Errorf("at the uplink was\n%s\nand is\n%s", before, now)
	}
	labtest.Eventually(t, "the uplink has a carrier", func() bool {
		return s.within(s.host, "ping", "-c1", "-W1", "10.77.0.254").Run() == nil
	})
	s.up("tbselse", text)
	s.ip("-n", s.host, "link", "del", s.uplink)
	if out := s.refused(exit.Failed, "check", "tbselse"); !strings.Contains(out, "up0, which the management network is on: is gone") {
		t.Errorf("check without the uplink: %s", out)
	}
	s.nines("down", "tbselse")
	if left := traces.Left(t, "tbselse", os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
