package lab

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/lab/change"
	"nines.dev/nines/plan"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// managedLab has a management network beside two links in a row:
//
//	a:x ──v── b:x   b:y ──w── c:y        a:mgmt, b:mgmt, c:mgmt ──bridge── host
func managedLab(name, management string) string {
	return fmt.Sprintf(`name: %s
topology:
  nodes:
    a: {runtime: netns}
    b: {runtime: lxc}
    c: {runtime: netns}
  links:
    - {name: v, kind: veth, endpoints: ["a:x", "b:x"]}
    - {name: w, kind: veth, endpoints: ["b:y", "c:y"]}
management: %s
`, name, management)
}

// TestNodesKnowEachOthersNames: every node in every node, over the measured links and, with NODE.mgmt,
// over the management network; also by the server of names, and for DHCP.
func TestNodesKnowEachOthersNames(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	labs.NeedDnsmasq(t)
	lab := up(t, managedLab("tbmgmtnames", "{mac: pos}"))
	p := lab.Plan()
	for _, n := range p.Nodes {
		for _, name := range p.NamesFor(n.Name) {
			// busybox has no getent, and says in ping what the name means.
			out := in(t, lab, n.Name, "sh", "-c", "if type getent; then getent hosts "+name.Name+"; else ping -c1 -W1 "+name.Name+"; fi | tr -d '()' | tr ' ' '\\n'; true")
			if !slices.Contains(strings.Fields(strings.ReplaceAll(out, ":", "")), name.Addresses[0].String()) {
				t.Errorf("%s takes %s for: %s; want %s", n.Name, name.Name, out, name.Addresses[0])
			}
		}
	}
	for _, pair := range [][2]string{{"a", "b"}, {"b", "a"}, {"b", "c"}, {"a", "c.mgmt"}, {"b", "a.mgmt"}} {
		if out := in(t, lab, pair[0], "ping", "-c1", "-W5", pair[1]); !strings.Contains(out, " 0% packet loss") {
			t.Errorf("%s to %s: %s", pair[0], pair[1], out)
		}
	}
	if out := in(t, lab, "b", "nslookup", "c.mgmt", p.Management.Server); !strings.Contains(out, p.ManagementAddress(*p.Node("c"))) {
		t.Errorf("the server of names says: %s", out)
	}
	if out := in(t, lab, "b", "udhcpc", "-i", "mgmt", "-n", "-q", "-f", "-s", "/bin/true"); !strings.Contains(out, "lease of "+p.ManagementAddress(*p.Node("b"))+" obtained") {
		t.Errorf("the server of addresses says: %s", out)
	}
	if text, err := os.ReadFile("/etc/hosts"); err != nil || strings.Contains(string(text), "c.mgmt") {
		t.Errorf("the host's own names: %v, %s", err, text)
	}
}

// TestTheHostReachesTheNodes: over its interface, which is gone with the lab. No packet is routed for a
// node.
func TestTheHostReachesTheNodes(t *testing.T) {
	labtest.Root(t)
	lab := up(t, strings.Replace(managedLab("tbreach", "{dns: false}"), "runtime: lxc", "runtime: netns", 1))
	m := lab.Plan().Management
	device, err := net.InterfaceByName(m.Device)
	if err != nil {
		t.Fatal(err)
	}
	if addresses, err := device.Addrs(); err != nil || len(addresses) != 1 || addresses[0].String() != m.HostAddress() {
		t.Errorf("the host's addresses are %v, %v; want %s", addresses, err, m.HostAddress())
	}
	if text, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + m.Device + "/forwarding"); err != nil || strings.TrimSpace(string(text)) != "0" {
		t.Errorf("forwarding is %s, %v", text, err)
	}
	for _, n := range lab.Plan().Nodes {
		if out, err := exec.Command("ping", "-c1", "-W5", lab.Plan().ManagementAddress(n)).CombinedOutput(); err != nil {
			t.Errorf("node %s: %v: %s", n.Name, err, out)
		}
	}
	if list, err := lab.Programs(); err != nil || len(list) != 0 {
		t.Errorf("without a server of names there are %v, %v", list, err)
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	if left := traces.Left(t, lab.Plan().Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestTwoLabsHaveManagementNetworksSideBySide: the second has another subnet, unless its file says the
// first's: then it is refused, and the first goes on.
func TestTwoLabsHaveManagementNetworksSideBySide(t *testing.T) {
	labtest.Root(t)
	text := func(name, management string) string { return labs.Pair(name, "management: "+management+"\n") }
	one := up(t, text("tbmone", "{dns: false}"))
	subnet := one.Plan().Management.Subnet
	// The plan is for the host as it was before the first lab, and so are those of two calls at once.
	blind := func(inv *host.Inventory) { inv.Networks = nil }
	same := labs.PlanOn(t, text("tbmtwo", "{dns: false, subnet: "+subnet+"}"), blind)
	if _, err := Up(context.Background(), UpOptions{Plan: same}); exit.Code(err) != exit.Wrong || !strings.Contains(fmt.Sprint(err), subnet) {
		t.Errorf("the same subnet: %v", err)
	}
	if _, err := labs.TryPlan(t, text("tbmtwo", "{dns: false, subnet: "+subnet+"}"), func(*host.Inventory) {}); err == nil || !strings.Contains(err.Error(), "this host has a route to "+subnet) {
		t.Errorf("the plan with the same subnet: %v", err)
	}
	two := up(t, text("tbmtwo", "{dns: false}"))
	if two.Plan().Management.Subnet == subnet {
		t.Errorf("both have %s", subnet)
	}
	for _, lab := range []*Lab{one, two} {
		if again := labs.Plan(t, text(lab.Name(), "{dns: false}")); again.Management.Subnet != lab.Plan().Management.Subnet {
			t.Errorf("%s has %s, and would get %s now", lab.Name(), lab.Plan().Management.Subnet, again.Management.Subnet)
		}
		in(t, lab, "a", "ping", "-c1", "-W5", "b.mgmt")
	}
}

// TestTwoPlansOfOneSubnet: two labs that were planned before either was up.
func TestTwoPlansOfOneSubnet(t *testing.T) {
	labtest.Root(t)
	one := up(t, labs.Pair("tbmearly", "management: {dns: false}\n"))
	p := &plan.Plan{Name: "tbmlate", Prefix: "tbmlate", Management: &plan.Management{Subnet: one.Plan().Management.Subnet}}
	if err := vacant(p); exit.Code(err) != exit.Wrong || !strings.Contains(fmt.Sprint(err), one.Name()) {
		t.Errorf("got %v", err)
	}
}

// TestAForeignInterfaceIsNotTouched: one that has the name of the lab's is refused, and stays.
func TestAForeignInterfaceIsNotTouched(t *testing.T) {
	labtest.Root(t)
	text := labs.Pair("tbmforeign", "management: {dns: false}\n")
	name := labs.Plan(t, text).Management.Device
	attributes := netlink.NewLinkAttrs()
	attributes.Name = name
	foreign := &netlink.Veth{LinkAttrs: attributes, PeerName: "tbmforeign0"}
	if err := netlink.LinkAdd(foreign); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = netlink.LinkDel(foreign) })
	err := upError(t, text)
	if exit.Code(err) != exit.Wrong || !strings.Contains(fmt.Sprint(err), name) {
		t.Errorf("got %v", err)
	}
	if now, err := netlink.LinkByName(name); err != nil || now.Attrs().Index != foreign.Index {
		t.Errorf("the other's interface: %v", err)
	}
}

// TestApplyChangesTheManagementNetwork: nodes that come are known to those that are there; another
// subnet, and a network that comes or goes.
func TestApplyChangesTheManagementNetwork(t *testing.T) {
	labtest.Root(t)
	labs.NeedDnsmasq(t)
	text := labs.Pair("tbmapply", "management: {}\n")
	lab := up(t, text)
	pid := lab.PID("a")
	apply := func(text string) change.Changes {
		t.Helper()
		changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return changes
	}
	if c := apply(text); !c.Empty() {
		t.Errorf("the same file changes %+v", c)
	}
	more := strings.Replace(text, "b: {runtime: netns}", "b: {runtime: netns}, z: {runtime: netns}", 1)
	apply(more)
	if lab.PID("a") != pid {
		t.Error("another node made a anew")
	}
	in(t, lab, "a", "ping", "-c1", "-W5", "z.mgmt")
	in(t, lab, "z", "ping", "-c1", "-W5", "a.mgmt")
	if programs, err := lab.Programs(); err != nil || len(programs) != 1 || !programs[0].Alive {
		t.Errorf("the server of names: %+v, %v", programs, err)
	}
	free := labs.Plan(t, labs.Pair("tbmother", "management: {}\n")).Management.Subnet
	apply(strings.Replace(more, "management: {}", "management: {subnet: "+free+"}", 1))
	got, err := netip.ParseAddr(lab.Plan().ManagementAddress(*lab.Plan().Node("z")))
	if err != nil || !netip.MustParsePrefix(free).Contains(got) || lab.PID("a") != pid {
		t.Errorf("z has %s, %v, of %s, and a was made anew: %v", got, err, free, lab.PID("a") != pid)
	}
	in(t, lab, "a", "ping", "-c1", "-W5", "z.mgmt")
	apply(strings.Replace(more, "management: {}\n", "", 1))
	if left, err := net.InterfaceByName(lab.Plan().Prefix + "-mgmt"); err == nil {
		t.Errorf("the host still has %s", left.Name)
	}
	apply(more)
	in(t, lab, "z", "ping", "-c1", "-W5", "a.mgmt")
	if checked, err := lab.Check(); err != nil {
		t.Error(err)
	} else {
		for _, part := range checked {
			if part.Problem != "" {
				t.Errorf("%s: %s", part.Part, part.Problem)
			}
		}
	}
}

// TestAManagementNetworkIsMended: a server of names that was killed, and an interface of the host's that
// someone has removed, are reported, and apply restores them.
func TestAManagementNetworkIsMended(t *testing.T) {
	labtest.Root(t)
	labs.NeedDnsmasq(t)
	text := labs.Pair("tbmmend", "management: {}\n")
	lab := up(t, text)
	for what, c := range map[string]struct {
		harm func() error
		want string
	}{
		"a server of names that was killed": {func() error {
			programs, err := lab.Programs()
			if err != nil || len(programs) != 1 {
				return fmt.Errorf("%v, %w", programs, err)
			}
			process, err := os.FindProcess(programs[0].PID)
			if err != nil {
				return err
			}
			return process.Kill()
		}, "dnsmasq of link management has died"},
		"an interface that is gone": {func() error {
			device, err := netlink.LinkByName(lab.Plan().Management.Device)
			if err != nil {
				return err
			}
			return netlink.LinkDel(device)
		}, lab.Plan().Management.Device + ", is gone"},
		"an interface that is down": {func() error {
			device, err := netlink.LinkByName(lab.Plan().Management.Device)
			if err != nil {
				return err
			}
			return netlink.LinkSetDown(device)
		}, lab.Plan().Management.Device + ", is down"},
		"a port that takes all": {func() error {
			port := lab.Plan().Link(lab.Plan().Management.Link).Endpoints[0].FabricDevice
			return exec.Command("tc", "-n", lab.Plan().FabricName(), "qdisc", "del", "dev", port, "clsact").Run()
		}, "has lost the program that drops what comes from foreign addresses"},
	} {
		if err := c.harm(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		labtest.Eventually(t, what, func() bool {
			faults, err := lab.Faults()
			return err == nil && len(faults) == 1 && strings.Contains(faults[0].Problem, c.want)
		})
		if _, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)}); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
			t.Errorf("%s, mended: %v, %v", what, faults, err)
		}
		if out, err := exec.Command("ping", "-c1", "-W5", lab.Plan().ManagementAddress(*lab.Plan().Node("a"))).CombinedOutput(); err != nil {
			t.Errorf("%s, mended: %v: %s", what, err, out)
		}
	}
}
