package lab

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// comparedLab has a link of each kind that is made of the kernel's devices alone:
//
//	a:v ──veth── b:v                 a:p ──xdp, pair── b:p
//	a, b, c: lan ── bridge           a, b, c: x ── xdp, switch
//	a, b: m ── macvlan on a private parent
const comparedLab = `
name: tbcompared
topology:
  nodes:
    a: {runtime: netns, routes: [{to: 10.99.0.0/24, interface: v}], sysctls: {net.ipv4.tcp_rmem: "4096  87380 6291456", net.core.somaxconn: "77", kernel.msgmax: "9000"}}
    b: {runtime: netns, app: {kind: route}}
    c: {runtime: netns}
  links:
    - {name: v, kind: veth, endpoints: ["a:v", "b:v"]}
    - {name: lan, kind: bridge, endpoints: ["a:lan", "b:lan", "c:lan"]}
    - {name: pair, kind: xdp, endpoints: ["a:p", "b:p"]}
    - {name: x, kind: xdp, endpoints: ["a:x", "b:x", "c:x"]}
    - {name: m, kind: macvlan, endpoints: ["a:m", "b:m"]}
`

// damage is what others can do to a lab.
type damage struct {
	what    string
	do      []string
	fabric  bool // in the fabric, and not in node a
	part    string
	problem string
}

// TestWhatOthersChangeOnDevicesIsFoundAndMended changes one thing after the other from outside, with ip,
// tc, bridge and ethtool. The check names the part and no other, and apply mends it.
func TestWhatOthersChangeOnDevicesIsFoundAndMended(t *testing.T) {
	labtest.Root(t)
	for _, program := range []string{"ethtool", "tc"} {
		_, err := exec.LookPath(program)
		labtest.Require(t, program, err == nil)
	}
	lab := up(t, comparedLab)
	end := func(node, iface string) string {
		_, e := lab.Plan().EndOf(node, iface)
		return e.FabricDevice
	}
	device := func(name string) string { return lab.Plan().Link(name).Device }
	object, err := filepath.Abs("link/xdp/pair.bpf.o")
	if err != nil {
		t.Fatal(err)
	}
	neighbour := lab.Plan().Interface(plan.Endpoint{Node: "a", Interface: "lan"}).Neighbours[0].IP
	network := lab.Plan().Interface(plan.Endpoint{Node: "a", Interface: "lan"}).Addresses[0]
	lost := (&link.View{}).LostNetworks(*lab.Plan().Interface(plan.Endpoint{Node: "a", Interface: "lan"}), nil)
	if len(lost) != 1 {
		t.Fatalf("the network of %s is told as %v", network, lost)
	}
	words := func(line string, args ...any) []string { return strings.Fields(fmt.Sprintf(line, args...)) }
	node, fabric := false, true
	for _, d := range []damage{
		{"a limit", words("tc qdisc add dev lan root tbf rate 1mbit burst 10kb latency 50ms"), node, "interface a:lan", "has the queueing discipline tbf, and none is planned"},
		{"a filter", words("tc qdisc add dev lan clsact"), node, "interface a:lan", "has filters of packets (tc qdisc clsact)"},
		{"a program", words("ip link set dev lan xdpgeneric obj %s sec xdp.frags", object), node, "interface a:lan", "has the XDP program pair attached"},
		{"a route less", words("ip route del 10.99.0.0/24"), node, "node a", "has lost its route to 10.99.0.0/24 dev v"},
		{"a route elsewhere", words("ip route replace 10.99.0.0/24 dev lan"), node, "node a", "has lost its route to 10.99.0.0/24 dev v"},
		{"the network's route less", words("ip route del %s dev lan", lost[0]), node, "interface a:lan", "has lost the route to its network"},
		{"a neighbour less", words("ip neigh del %s dev lan", neighbour), node, "interface a:lan", "has lost its neighbour " + neighbour},
		{"another neighbour", words("ip neigh replace %s lladdr 02:00:00:00:00:77 dev lan", neighbour), node, "interface a:lan", "has the MAC address 02:00:00:00:00:77 for its neighbour " + neighbour},
		{"a sysctl", words("sysctl -q -w net.core.somaxconn=78"), node, "node a", "has the sysctl net.core.somaxconn=78, and 77 was set"},
		{"a sysctl of another kind", []string{"sysctl", "-q", "-w", "net.ipv4.tcp_rmem=4096 87380 6291455"}, node, "node a", "has the sysctl net.ipv4.tcp_rmem=4096 87380 6291455"},
		{"a sysctl of the ipc namespace", words("nsenter --ipc --target %d sysctl -q -w kernel.msgmax=9001", lab.PID("a")), node, "node a", "has the sysctl kernel.msgmax=9001, and 9000 was set"},
		{"a sysctl that the file does not set", words("sysctl -q -w net.ipv4.tcp_congestion_control=reno"), node, "node a", "has the sysctl net.ipv4.tcp_congestion_control=reno, and "},
		{"a sysctl of one interface", words("sysctl -q -w net.ipv4.conf.lan.rp_filter=1"), node, "node a", "has the sysctl net.ipv4.conf.lan.rp_filter=1, and it was 0"},
		{"a sysctl that changes others", words("sysctl -q -w net.ipv4.ip_forward=1"), node, "node a", "has the sysctl net.ipv4.ip_forward=1, and 0 was set"},
		{"an address more", words("ip address add 10.66.0.1/24 dev lan"), node, "interface a:lan", "has the address 10.66.0.1/24, and the file does not list it"},
		{"an address of the loopback", words("ip address add 10.66.0.1/32 dev lo"), node, "node a", "has the address 10.66.0.1/32 at lo"},
		{"a route more", words("ip route add 10.67.0.0/24 dev lan"), node, "node a", "has the route 10.67.0.0/24 dev lan, and the file does not list it"},
		{"a blackhole", words("ip route add blackhole 10.68.0.0/24"), node, "node a", "has the route blackhole 10.68.0.0/24"},
		{"a route of another table", words("ip route add 10.67.0.0/24 dev lan table 77"), node, "node a", "has the route 10.67.0.0/24 dev lan table 77"},
		{"an unreachable network of IPv6", words("ip -6 route add unreachable 2001:db8::/32"), node, "node a", "has the route unreachable 2001:db8::/32"},
		{"a rule of routing", words("ip rule add from 10.0.0.0/8 table 77"), node, "node a", "has the rule of routing ip rule"},
		{"a rule that prohibits", words("ip rule add to 10.0.0.0/8 prohibit"), node, "node a", "has the rule of routing ip rule"},
		{"a rule less", words("ip rule del priority 32767"), node, "node a", "has lost the rule of routing ip rule 32767"},
		{"an interface more", words("ip link add more up type veth peer name less"), node, "node a", "has the interface more, and the file does not list it"},
		{"IPv6", words("sysctl -q -w net.ipv6.conf.lan.disable_ipv6=0"), node, "interface a:lan", "has disable_ipv6=0, and 1 was set"},
		{"an offload", words("ethtool -K lan tx on gso on"), node, "interface a:lan", "but was set to off"},
		{"a macvlan in another mode", words("ip link set dev m type macvlan mode vepa"), node, "interface a:m", "is no longer a macvlan in bridge mode"},

		{"an end that is down", words("ip link set %s down", end("a", "lan")), fabric, "link lan", "is down"},
		{"an end with another MTU", words("ip link set %s mtu 1400", end("a", "p")), fabric, "link pair", "has an MTU of 1400, and 1500 is planned"},
		{"an end outside the bridge", words("ip link set %s nomaster", end("a", "lan")), fabric, "link lan", "is in no bridge, and not in"},
		{"an end with another name", words("ip link set %s name other", end("c", "lan")), fabric, "link lan", "is gone"},
		{"an end that drops", words("tc qdisc add dev %s root tbf rate 1mbit burst 10kb latency 50ms", end("b", "lan")), fabric, "link lan", "has the queueing discipline tbf"},
		{"a bridge whose packets go through iptables", words("sysctl -q -w net.bridge.bridge-nf-call-iptables=1"), fabric, "link lan", "its packets go through iptables"},
		{"a bridge that asks for groups", words("ip link set %s type bridge mcast_snooping 1", device("lan")), fabric, "link lan", "has multicast snooping on"},
		{"a bridge that forgets", words("ip link set %s type bridge ageing_time 1000", device("lan")), fabric, "link lan", "forgets addresses after 10 s"},
		{"a pair without its program", words("ip link set dev %s xdp off", end("a", "p")), fabric, "link pair", "has lost its XDP program"},
		{"a pair with another program", words("ip -force link set dev %s xdpdrv obj %s sec xdp.frags", end("a", "p"), object), fabric, "link pair", "no longer leads to " + end("b", "p")},
		{"a switch with another program", words("ip -force link set dev %s xdpdrv obj %s sec xdp.frags", end("c", "x"), object), fabric, "link x", "has the XDP program pair"},
		{"a parent that is down", words("ip link set %s down", device("m")), fabric, "link m", "is gone, or down"},
	} {
		t.Run(d.what, func(t *testing.T) { foundAndMended(t, lab, comparedLab, d) })
	}
	for _, d := range []damage{
		{"a filter of iptables", words("iptables-legacy -A INPUT -s 10.0.0.1 -j DROP"), node, "node a", "filters packets (iptables filter INPUT: 1 rule)"},
		{"a filter of nftables", words("iptables-nft -A INPUT -s 10.0.0.1 -j DROP"), node, "node a", "filters packets (nft ip filter INPUT: 1 rule)"},
	} {
		t.Run(d.what, func(t *testing.T) {
			labtest.Require(t, d.do[0], exec.Command("unshare", "-n", d.do[0], "-L").Run() == nil) // not every kernel has both
			foundAndMended(t, lab, comparedLab, d)
		})
	}
}

// foundAndMended damages a lab that is as planned, and has apply mend it.
func foundAndMended(t *testing.T, lab *Lab, text string, d damage) {
	t.Helper()
	untouched(t, lab)
	if d.fabric {
		labtest.Sh(t, append([]string{"ip", "netns", "exec", lab.Plan().FabricName()}, d.do...)...)
	} else {
		labtest.Sh(t, append([]string{"ip", "netns", "exec", lab.Plan().Nodes[0].HostName}, d.do...)...)
	}
	mended(t, lab, text, d)
}

// mended has apply mend a damage that was done.
func mended(t *testing.T, lab *Lab, text string, d damage) {
	t.Helper()
	bad := problems(t, lab)
	if len(bad) != 1 || bad[0].Part != d.part || !strings.Contains(bad[0].Problem, d.problem) {
		t.Errorf("found %+v, want %s: %q", bad, d.part, d.problem)
	}
	changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)})
	if err != nil || changes.Empty() {
		t.Fatalf("apply changed %+v, %v", changes, err)
	}
	untouched(t, lab)
}

// untouched is a lab that is as planned, looked at twice.
func untouched(t *testing.T, lab *Lab) {
	t.Helper()
	for range 2 {
		asPlanned(t, lab)
	}
}

// TestALabOfAnyKindThatNobodyTouchedIsAsPlanned checks one of each kind, before and after packets have gone
// over it.
func TestALabOfAnyKindThatNobodyTouchedIsAsPlanned(t *testing.T) {
	for _, kind := range []string{"veth", "bridge", "macvlan", "xdp", "vxlan", "switch", "testpmd", "ovs", "ovs-dpdk", "ovn", "vpp", "snabb"} {
		t.Run(kind, func(t *testing.T) {
			labtest.Root(t)
			switch kind {
			case "ovs", "ovs-dpdk", "ovn":
				labs.NeedOVS(t, kind)
			case "vpp", "snabb":
				labtest.Built(t, kind)
			}
			text := labs.OVSStar(kind, 2, 1500) // without hugepages
			if kind == "snabb" {                // which cannot do without
				labtest.Hugepages(t)
				text = strings.Replace(text, "hugepages: none", "hugepages: reserve", 1)
			}
			lab := up(t, text)
			asPlanned(t, lab)
			if kind != "testpmd" {
				everyPingOnce(t, lab)
			}
			asPlanned(t, lab)
		})
	}
}

// asPlanned fails where a part of a lab is not as planned.
func asPlanned(t *testing.T, lab *Lab) {
	t.Helper()
	parts, err := lab.Check()
	if err != nil {
		t.Fatal(err)
	}
	if bad := slices.DeleteFunc(parts, func(c Checked) bool { return c.Problem == "" }); len(bad) > 0 {
		t.Fatalf("not as planned: %+v", bad)
	}
}

// TestPortsThatSwitchesLoseAreFound takes ports from the programs of links, behind the lab's back.
func TestPortsThatSwitchesLoseAreFound(t *testing.T) {
	labtest.Root(t)
	for _, c := range []struct {
		kind    string
		take    func(*testing.T, *Lab)
		problem string
	}{
		{"switch", func(t *testing.T, lab *Lab) {
			withSwitchOf(t, lab, func(c *client.Client) error { return c.Detach("n1:eth") })
		}, "the switch's port n1:eth is gone"},
		{"switch", func(t *testing.T, lab *Lab) {
			withSwitchOf(t, lab, func(c *client.Client) error { _, err := c.Cut("n1:eth", true); return err })
		}, "the switch's port n1:eth is cut"},
		{"ovs", func(t *testing.T, lab *Lab) {
			ovsCommand(t, lab, "lan", "ovs-vsctl", "--db=unix:DIR/db.sock", "del-port", "br0", lab.Plan().Links[0].Endpoints[0].FabricDevice)
		}, "of n1:eth is gone"},
	} {
		t.Run(c.kind+" "+c.problem, func(t *testing.T) {
			if c.kind == "ovs" {
				labs.NeedOVS(t, c.kind)
			}
			text := labs.Star(c.kind, 2, 1500)
			lab := up(t, text)
			asPlanned(t, lab)
			c.take(t, lab)
			faults, err := lab.Faults()
			if err != nil || len(faults) != 1 || faults[0].Part != "link lan" || !strings.Contains(faults[0].Problem, c.problem) {
				t.Errorf("found %+v, %v, want %q", faults, err, c.problem)
			}
			if changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text)}); err != nil || changes.Empty() {
				t.Fatalf("apply changed %+v, %v", changes, err)
			}
			asPlanned(t, lab)
		})
	}
}

func withSwitchOf(t *testing.T, lab *Lab, f func(*client.Client) error) {
	t.Helper()
	c, err := client.Dial(context.Background(), link.SwitchSocket(lab.State().Dir, "lan"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f(c), c.Close()); err != nil {
		t.Fatal(err)
	}
}
