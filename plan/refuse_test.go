package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// two is a sender and a forwarder, for the tests to change.
func two() *spec.Experiment {
	return &spec.Experiment{
		Name: "two",
		Topology: spec.Topology{
			Nodes: map[string]*spec.Node{
				"gen": {},
				"dut": {App: &spec.App{Kind: spec.AppForward}},
			},
			Links: []*spec.Link{
				{Name: "in", Endpoints: []string{"gen:tx", "dut:in"}},
				{Name: "out", Endpoints: []string{"dut:out", "gen:rx"}, Kind: spec.LinkBridge},
			},
		},
		Traffic: whole(spec.Traffic{From: "gen:tx", To: "gen:rx", RatePPS: 1}),
	}
}

// TestRefuse: what cannot be planned is refused in one line with place, reason and remedy: exit
// code 2 where the file contradicts itself, 3 where the host does not suffice. The host is the
// microVM with two CPUs.
func TestRefuse(t *testing.T) {
	memoryNode := 7
	for _, c := range []struct {
		name   string
		change func(e *spec.Experiment, inv *host.Inventory)
		code   int
		want   string
	}{
		{"too many CPUs", func(e *spec.Experiment, _ *host.Inventory) { e.Topology.Nodes["dut"].CPUs = 4 }, 3,
			"node dut requests 4 CPUs; the host has 2, 1 is kept for housekeeping; request fewer (--set nodes.dut.cpus=1)"},
		{"TSO where the receive mode turns it off", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Links[1].Offloads = []spec.Offload{spec.OffloadTSO}
			e.Topology.Nodes["gen"].RX = spec.ReceiveBusyPoll
		}, 2, "link out: rx: busy_poll at gen:rx turns TSO off; remove tso or rx"},
		{"GRO in a virtual machine", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Links[1].GRO = true
			e.Topology.Nodes["dut"].Runtime = spec.RuntimeVM
		}, 2, "link out: gro and offloads cannot be set at dut:out, whose device this host's kernel does not drive; remove them there"},
		{"a trial that ends before delayed packets arrive", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Links[0].Impair = &spec.Impairment{Delay: 3e8, Jitter: 1e8, Distribution: spec.DistributionUniform}
			e.Topology.Links[1].ImpairFrom = map[string]*spec.Impairment{"dut:out": {Delay: 2e8}, "gen:rx": {Delay: 9e9}}
		}, 2, "traffic: the links on the path delay a packet by up to 600ms, but a trial waits only 0s for its last packets, " +
			"and would count later ones as lost; write traffic: {drain: 700ms} or more"},
		{"a trial that ends before packets have left at the rate", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Links[0].Impair = &spec.Impairment{Delay: 1e8, Rate: 1e7, Limit: 10000}
			e.Traffic.FrameBytes, e.Traffic.Drain = 1500, 5e8
		}, 2, "traffic: the links on the path delay a packet by up to 12.1s (12s of it in a full queue), " +
			"but a trial waits only 500ms for its last packets, and would count later ones as lost; write traffic: {drain: 12.2s} or more, " +
			"or give the links a smaller limit or a higher rate"},
		{"a rate for which no trial waits long enough", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Links[0].Impair = &spec.Impairment{Rate: 1e-3, Limit: 1000000} // as a year, not an overflow
		}, 2, "traffic: the links on the path delay a packet by up to 31536000s (31536000s of it in a full queue), " +
			"but a trial waits only 0s for its last packets, and would count later ones as lost; give the links a smaller limit or a higher rate"},
		{"delays for which no trial waits long enough", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Links[0].Impair, e.Topology.Links[1].Impair = &spec.Impairment{Delay: 4e10}, &spec.Impairment{Delay: 4e10}
		}, 2, "traffic: the links on the path delay a packet by up to 80s, but a trial waits only 0s for its last packets, " +
			"and would count later ones as lost; give the links less delay"},
		{"too many together", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["dut"].CPUs, e.Topology.Nodes["gen"].CPUs = 1, 1
		}, 3, "node dut requests 1 CPU; the host has 2, 1 is kept for housekeeping, gen needs 1; " +
			"let it share (--set nodes.dut.cpus=0), request fewer elsewhere, or use a host with more CPUs"},
		{"a FIFO poller on shared CPUs", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["gen"].Scheduling = &spec.Scheduling{Policy: spec.SchedulingFIFO, Priority: 1}
			e.Traffic.Wait = spec.WaitSpin
		}, 3, "node gen polls as fifo 1 on CPU 0, which it does not have exclusively; nothing else would run there; " +
			"give it a CPU of its own (--set nodes.gen.cpus=1 on a host with more CPUs), wait: block, or policy: other with a niceness"},
		{"a FIFO sender at an unlimited rate", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["gen"].Scheduling = &spec.Scheduling{Policy: spec.SchedulingRR, Priority: 1}
			e.Traffic.RatePPS = 0
		}, 3, "node gen polls as rr 1 on CPU 0, which it does not have exclusively; nothing else would run there; " +
			"give it a CPU of its own (--set nodes.gen.cpus=1 on a host with more CPUs), wait: block, or policy: other with a niceness"},
		{"a poller that nothing stops", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["dut"].Scheduling = &spec.Scheduling{Policy: spec.SchedulingFIFO, Priority: 99}
			e.Topology.Nodes["dut"].App.Wait = spec.WaitSpin
		}, 2, "node dut: it polls with priority 99 on its only CPU, so nothing could stop it; give it 98 or less, or cpus: 2"},
		{"CPUs of a NUMA node", func(e *spec.Experiment, inv *host.Inventory) {
			*inv = *loadHost(t, "epyc-7551p")
			three := 3
			e.Topology.Nodes["dut"].CPUs, e.Topology.Nodes["dut"].MemoryNode = 9, &three
		}, 3, "node dut requests 9 CPUs on NUMA node 3; the host has 32 usable of 64, that node 8, 1 is kept for housekeeping; " +
			"request fewer (--set nodes.dut.cpus=8), or remove memory_node"},
		{"no such NUMA node", func(e *spec.Experiment, _ *host.Inventory) { e.Topology.Nodes["dut"].MemoryNode = &memoryNode }, 3,
			"node dut requests NUMA node 7; the host has 1 NUMA node; remove memory_node to let nines choose"},
		{"no such CPU", func(e *spec.Experiment, _ *host.Inventory) { e.Topology.Nodes["dut"].CPUList = "1-2" }, 3,
			"node dut requests CPU 2; the host has the CPUs 0-1; name others in cpu_list, or give cpus"},
		{"offline CPU", func(e *spec.Experiment, inv *host.Inventory) {
			*inv = *loadHost(t, "epyc-7551p")
			e.Topology.Nodes["dut"].CPUList = "32"
		}, 3, "node dut requests CPU 32; that CPU is offline; echo 1 > /sys/devices/system/cpu/cpu32/online"},
		{"CPU not allowed", func(e *spec.Experiment, inv *host.Inventory) {
			inv.AllowedCPUs = []int{0}
			e.Topology.Nodes["dut"].CPUList = "1"
		}, 3, "node dut requests CPU 1; this process may only use 0; widen its cpuset or affinity (taskset -p)"},
		{"a CPU twice", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["dut"].CPUList, e.Topology.Nodes["gen"].CPUList = "1", "0-1"
		}, 2, "node gen: cpu_list: CPU 1 is in the list of node dut; a CPU belongs to one node or switch"},
		{"cpus and cpu_list", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["dut"].CPUList, e.Topology.Nodes["dut"].CPUs = "1", 1
		}, 2, "node dut: it has both cpus and cpu_list; give one of them"},
		{"memory", func(e *spec.Experiment, _ *host.Inventory) { e.Topology.Nodes["dut"].Memory = 1 << 40 }, 3,
			"node dut requests 1TiB of memory on NUMA node 0; there are 24105 MiB; use less (--set nodes.dut.memory=24105MiB)"},
		{"MTU below the frame", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Links[0].MTU, e.Traffic.FrameBytes = 1000, 1518
		}, 2, "link in: mtu 1000 is less than the 1500 of frames of 1518 bytes; remove mtu, or send frames of at most 1018 bytes"},
		{"no such parent", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Links[0].Kind, e.Topology.Links[0].Parent = spec.LinkMacvlan, "eth9"
		}, 3, "link in requests the parent eth9; the host has no such interface; it has eth0, ifb0, ifb1; or remove parent for a private one"},
		{"a parent with less MTU", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Links[0].Kind, e.Topology.Links[0].Parent, e.Traffic.FrameBytes = spec.LinkMacvlan, "eth0", 1518
		}, 3, "link in requests the parent eth0; its MTU is 1400 and the link's 1500; ip link set eth0 mtu 1500"},
		{"the loopback as parent", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Links[0].Kind, e.Topology.Links[0].Parent = spec.LinkMacvlan, "lo"
		}, 3, "link in requests the parent lo; the kernel does not allow a macvlan on the loopback interface; remove parent for a private one"},
		{"a parent without macvlan", func(e *spec.Experiment, _ *host.Inventory) { e.Topology.Links[0].Parent = "eth0" }, 2,
			"link in: kind veth takes no parent; use kind: macvlan, or remove parent"},
		{"nothing forwards", func(e *spec.Experiment, _ *host.Inventory) { e.Topology.Nodes["dut"].App = nil }, 2,
			"traffic from gen:tx to gen:rx: packets reach only dut:in; give that node app: {kind: forward}, {kind: route} or {kind: device}, or end the traffic there"},
		{"no way at all", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["dut"].App.Kind = spec.AppRoute
			e.Topology.Nodes["far"] = &spec.Node{}
			e.Topology.Nodes["off"] = &spec.Node{}
			e.Topology.Links = append(e.Topology.Links[:1], &spec.Link{Name: "off", Endpoints: []string{"off:a", "far:a"}})
			e.Traffic.To = "far:a"
		}, 2, "traffic from gen:tx to far:a: no path exists; join them by links and by nodes with app: {kind: forward}, {kind: route} or {kind: device}"},
		{"nothing reflects", func(e *spec.Experiment, _ *host.Inventory) { e.Traffic.To = "gen:tx" }, 2,
			"traffic from gen:tx to gen:tx: from and to are the same endpoint, and no node on the way reflects; give the far node app: {kind: reflect} or app: {kind: device, leaves: returned}"},
		{"an end with an app", func(e *spec.Experiment, _ *host.Inventory) { e.Traffic.To = "dut:in" }, 2,
			"traffic: it ends at dut:in, but node dut runs app forward; end the traffic at a node without an app; for a round trip through a reflecting node give from and to the same endpoint"},
		{"an end on no link", func(e *spec.Experiment, _ *host.Inventory) { e.Traffic.To = "gen:eth5" }, 2,
			"traffic.to: gen:eth5 is on no link; node gen has gen:tx, gen:rx"},
		{"forward with three interfaces off the way", func(e *spec.Experiment, _ *host.Inventory) {
			e.Traffic = nil
			e.Topology.Links = append(e.Topology.Links, &spec.Link{Endpoints: []string{"dut:x", "gen:y"}})
		}, 2, "node dut: app forward works on 2 interfaces, and the node has 3 off the traffic's way; give it that many links, or lead the traffic through it"},
		{"an unknown node", func(e *spec.Experiment, _ *host.Inventory) { e.Topology.Links[0].Endpoints[0] = "gne:tx" }, 2,
			"link in: endpoint gne:tx names no node; the nodes are dut, gen"},
		{"a veth of three", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Links[0].Endpoints = append(e.Topology.Links[0].Endpoints, "gen:third")
		}, 2, "link in: has 3 endpoints; veth joins two; use kind: bridge, xdp or switch"},
		{"an interface twice", func(e *spec.Experiment, _ *host.Inventory) { e.Topology.Links[1].Endpoints[0] = "dut:in" }, 2,
			"link out: endpoint dut:in is on link in already; an interface belongs to one link"},
		{"a long interface name", func(e *spec.Experiment, _ *host.Inventory) { e.Topology.Links[0].Endpoints[0] = "gen:sixteen-letters-" }, 2,
			"link in: the interface name of gen:sixteen-letters- has 16 characters; Linux takes at most 15"},
		{"a long prefix", func(e *spec.Experiment, _ *host.Inventory) { e.Prefix = "ninebytes" }, 2,
			`prefix: "ninebytes" cannot start a name; use at most 8 letters a-z, digits and hyphens, starting with a letter or digit`},
		{"an address twice", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["dut"].Addresses = map[string][]string{"in": {"10.0.0.1/24"}}
			e.Topology.Nodes["gen"].Addresses = map[string][]string{"tx": {"10.0.0.1/24"}}
		}, 2, "node gen: addresses.tx: 10.0.0.1 is the address of dut:in already; an address belongs to one interface"},
		{"subnets that do not meet", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["dut"].Addresses = map[string][]string{"in": {"10.0.0.1/24"}}
			e.Topology.Nodes["gen"].Addresses = map[string][]string{"tx": {"10.0.1.1/24"}}
		}, 2, "link in: gen:tx has 10.0.1.1/24 and dut:in has 10.0.0.1/24: not in one subnet; give them addresses of one subnet, or node gen a route"},
		{"a hop that no subnet reaches", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["dut"].Addresses = map[string][]string{"in": {"10.0.0.1/24"}, "out": {"10.0.1.1/24", "fd00::1/64"}}
			e.Topology.Nodes["gen"].Routes = []spec.Route{{To: "10.7.0.0/16", Via: "10.0.1.1"}, {To: "default", Via: "10.9.0.1"}}
		}, 2, "node gen: route to default via 10.9.0.1: no subnet of the node reaches 10.9.0.1; it has tx 10.0.0.0/24, rx 10.0.1.0/24; " +
			"use a hop in one of its subnets, or list addresses so that it has one there"},
		{"a hop behind another interface", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["dut"].Addresses = map[string][]string{"in": {"10.0.0.1/24"}, "out": {"10.0.1.1/24"}}
			e.Topology.Nodes["gen"].Routes = []spec.Route{{To: "default", Via: "10.0.1.1", Interface: "tx"}}
		}, 2, "node gen: route to default via 10.0.1.1 dev tx: no subnet of tx reaches 10.0.1.1; it has tx 10.0.0.0/24; " +
			"use a hop in one of its subnets, or list addresses so that it has one there"},
		{"a hop that a later route reaches", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["dut"].Addresses = map[string][]string{"in": {"10.0.0.1/24"}, "out": {"10.0.1.1/24"}}
			e.Topology.Nodes["gen"].Routes = []spec.Route{{To: "default", Via: "10.9.0.1"}, {To: "10.9.0.1/32", Interface: "tx"}}
		}, 2, "node gen: route to default via 10.9.0.1: no subnet of the node reaches 10.9.0.1; it has tx 10.0.0.0/24, rx 10.0.1.0/24; " +
			"use a hop in one of its subnets, or list addresses so that it has one there"},
		{"an IPv6 hop in a node without IPv6", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["dut"].Addresses = map[string][]string{"in": {"10.0.0.1/24", "fd00::1/64"}}
			e.Topology.Nodes["gen"].Routes = []spec.Route{{To: "default", Via: "fd00::1"}}
		}, 2, "node gen: route to default via fd00::1: no subnet of the node reaches fd00::1; it has none of that IP version; " +
			"use a hop in one of its subnets, or list addresses so that it has one there"},
		{"an IPv6 route where IPv6 is off", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["gen"].Routes = []spec.Route{{To: "fd00::/64", Interface: "tx"}}
		}, 2, "node gen: route to fd00::/64 dev tx: IPv6 is off on gen:tx, which has no IPv6 address; list one for it in addresses"},
		{"IPv6 on a small link", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["gen"].Addresses = map[string][]string{"tx": {"10.0.0.2/24", "fd00::2/64"}}
			e.Topology.Links[0].MTU = 1279
		}, 2, "link in: mtu 1279 is too small for fd00::2/64 of gen:tx: IPv6 needs 1280; raise it, or leave out the IPv6 address"},
		{"itself as hop", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["gen"].Addresses = map[string][]string{"tx": {"10.0.0.2/24"}}
			e.Topology.Nodes["gen"].Routes = []spec.Route{{To: "default", Via: "10.0.0.2"}}
		}, 2, "node gen: route to default via 10.0.0.2: 10.0.0.2 is the node's own address, of tx; give the address of the next router"},
		{"a link-local hop on no link", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["gen"].Addresses = map[string][]string{"tx": {"10.0.0.2/24", "fd00::2/64"}}
			e.Topology.Nodes["gen"].Routes = []spec.Route{{To: "default", Via: "fe80::1"}}
		}, 2, "node gen: route to default via fe80::1: a link-local hop exists on every link; add interface: to choose one"},
		{"a full subnet", func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["dut"].Addresses = map[string][]string{"in": {"10.0.0.1/32"}}
		}, 2, "link in: 10.0.0.1/32 has no room for the address of gen:tx; use a larger subnet, or list an address for every interface"},
		{"more flows than addresses", func(e *spec.Experiment, _ *host.Inventory) {
			e.Traffic.Flows, e.Traffic.FlowField = 65535, spec.FlowSourceAddress
		}, 2, "link out: 198.18.0.0/15 has no free subnet for its 2 addresses; list addresses of your own for some links, or use fewer flows by source address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			exp, inv := two(), loadHost(t, "microvm")
			c.change(exp, inv)
			p, err := Make(exp, inv)
			if err == nil {
				t.Fatalf("planned: %s", toJSON(t, p))
			}
			if err.Error() != c.want {
				t.Errorf("the error is\n%s\nwant\n%s", err, c.want)
			}
			if exit.Code(err) != c.code {
				t.Errorf("the exit code is not %d: %#v", c.code, err)
			}
		})
	}
}

// TestRefuseAllAtOnce: the excessive demands of all nodes and links are refused at once, each with
// its key, but not one that only follows from another.
func TestRefuseAllAtOnce(t *testing.T) {
	seven := 7
	for _, c := range []struct {
		name   string
		change func(e *spec.Experiment)
		want   []string
	}{
		{"CPUs of both, memory and a parent", func(e *spec.Experiment) {
			dut, gen := e.Topology.Nodes["dut"], e.Topology.Nodes["gen"]
			dut.CPUs, gen.CPUs, gen.Memory = 200, 9, 900<<40
			e.Topology.Links[1].Kind, e.Topology.Links[1].Parent = spec.LinkMacvlan, "eth9"
		}, []string{
			"topology.links.1.parent: link out requests the parent eth9; the host has no such interface; it has eth0, ifb0, ifb1; or remove parent for a private one",
			"topology.nodes.gen.memory: node gen requests 900TiB of memory on NUMA node 0; there are 24105 MiB; use less (--set nodes.gen.memory=24105MiB)",
			"topology.nodes.dut.cpus: node dut requests 200 CPUs; the host has 2, 1 is kept for housekeeping; request fewer, or let it share (--set nodes.dut.cpus=0)",
			"topology.nodes.gen.cpus: node gen requests 9 CPUs; the host has 2, 1 is kept for housekeeping; request fewer, or let it share (--set nodes.gen.cpus=0)",
		}},
		{"a list and CPUs", func(e *spec.Experiment) {
			e.Topology.Nodes["dut"].CPUs, e.Topology.Nodes["gen"].CPUList = 4, "5"
		}, []string{
			"topology.nodes.gen.cpu_list: node gen requests CPU 5; the host has the CPUs 0-1; name others in cpu_list, or give cpus",
			"topology.nodes.dut.cpus: node dut requests 4 CPUs; the host has 2, 1 is kept for housekeeping; request fewer (--set nodes.dut.cpus=1)",
		}},
		{"a NUMA node, and a poller that would have to share", func(e *spec.Experiment) {
			e.Topology.Nodes["dut"].MemoryNode = &seven
			e.Topology.Nodes["gen"].Scheduling = &spec.Scheduling{Policy: spec.SchedulingFIFO, Priority: 1}
			e.Traffic.Wait = spec.WaitSpin
		}, []string{"topology.nodes.dut.memory_node: node dut requests NUMA node 7; the host has 1 NUMA node; remove memory_node to let nines choose"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			exp := two()
			c.change(exp)
			_, err := Make(exp, loadHost(t, "microvm"))
			all := []error{err}
			if several := (Refusals)(nil); errors.As(err, &several) {
				all = several
			}
			var got []string
			for _, one := range all {
				var keyed interface{ Key() []string }
				if !errors.As(one, &keyed) {
					t.Fatalf("without a key: %v", one)
				}
				got = append(got, strings.Join(keyed.Key(), ".")+": "+one.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if exit.Code(err) != exit.Lacks {
				t.Errorf("the exit code is not 3: %v", err)
			}
		})
	}
}

// TestRefusalsHaveKeys: each refusal knows its key in the file.
func TestRefusalsHaveKeys(t *testing.T) {
	for _, change := range []func(*spec.Experiment){
		func(e *spec.Experiment) { e.Topology.Nodes["dut"].App = nil },
		func(e *spec.Experiment) { e.Topology.Links[0].Endpoints[0] = "gne:tx" },
		func(e *spec.Experiment) { e.Prefix = "ninebytes" },
		func(e *spec.Experiment) {
			e.Topology.Nodes["gen"].Routes = []spec.Route{{To: "default", Via: "10.9.0.1"}}
		},
		func(e *spec.Experiment) {
			e.Disturb = map[string]*spec.Disturbance{"d": {Kind: spec.DisturbSpin, Node: "no"}}
		},
		func(e *spec.Experiment) { e.Topology.Links[0].Kind = spec.LinkSRIOV },
	} {
		exp := two()
		change(exp)
		_, err := Make(exp, loadHost(t, "microvm"))
		if keyed := (interface{ Key() []string })(nil); !errors.As(err, &keyed) {
			t.Errorf("without a key: %v", err)
		}
	}
	for _, c := range []struct {
		key        string
		frameBytes int
		mtu        int
		dpdk       spec.DPDK
	}{
		{"dpdk memory", 9018, 0, spec.DPDK{Memory: 64 << 20}},
		{"topology links 0 mtu", 64, 9000, spec.DPDK{Driver: spec.DriverAFXDP}},
		{"topology links 0 mtu", 64, 32641, spec.DPDK{Driver: spec.DriverAFPacket}},
		{"traffic frame_bytes", 3393, 0, spec.DPDK{Driver: spec.DriverAFXDP}},
		{"dpdk device a:x", 9000, 0, spec.DPDK{Device: map[string]string{"a:x": "net_af_xdp1,iface=x"}}},
	} {
		exp := bypass(spec.LinkVeth, false)
		exp.Topology.Links[0].MTU, exp.Traffic.FrameBytes, exp.DPDK = c.mtu, c.frameBytes, &c.dpdk
		_, err := Make(exp, bypassHost(4, 1))
		if keyed := (interface{ Key() []string })(nil); !errors.As(err, &keyed) || strings.Join(keyed.Key(), " ") != c.key {
			t.Errorf("not with the key %s: %v", c.key, err)
		}
	}
}
