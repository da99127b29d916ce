package spec

import (
	"fmt"
	"slices"
	"strconv"
)

// isRemote is true for an endpoint of a node on a cluster.
func (c *checker) isRemote(endpoint string) bool {
	name, _ := splitEndpoint(endpoint)
	n := c.e.Topology.Nodes[name]
	return n != nil && n.Runtime.Descriptor().Remote
}

// remotes names the nodes on a cluster, in the file's order.
func (e *Experiment) remotes(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		n := e.Topology.Nodes[name]
		return n == nil || !n.Runtime.Descriptor().Remote
	})
}

// cluster refuses what changes or watches this host, where nodes are on a cluster, perhaps on other
// machines.
func (c *checker) cluster() {
	remotes := c.e.remotes(c.nodeNames())
	if len(remotes) == 0 {
		return
	}
	where := fmt.Sprintf("%q runs on a cluster", remotes[0])
	for _, one := range []struct {
		key, what string
		given     bool
	}{
		{"isolation", "isolation moves work of this host", c.e.Isolation == IsolationPartition || c.e.Isolation == IsolationIsolated},
		{"tuning", "tuning changes this host", c.e.Tuning != "" && c.e.Tuning != TuningNone},
		{"trace", "trace records the kernel of this host", c.e.Trace},
	} {
		if one.given {
			c.failKey(where+", and "+one.what, "", "remove "+one.key+"; for a pod's CPUs write cpus, and tune the cluster's nodes directly", one.key)
		}
	}
	if c.e.Cluster.ClockError != 0 && c.e.Cluster.Clock != ClockRealtime {
		c.failKey("clock_error is how wrong clocks are that PTP or NTP synchronises", "", "write clock: realtime beside it, or remove it", "cluster", "clock_error")
	}
	if c.e.DPDK != nil && c.e.DPDK.Hugepages == HugepagesReserve {
		c.failKey(where+", and nines reserves no hugepages on a cluster's nodes", "", "remove hugepages: the engines of pods use ordinary memory", "dpdk", "hugepages")
	}
}

// remoteLinks refuses links between a cluster and this host, and other interfaces than a pod has.
func (c *checker) remoteLinks() {
	for i, link := range c.e.Topology.Links {
		d := link.Kind.Descriptor()
		if !d.Remote {
			c.noRemotes(link, i)
			continue
		}
		for _, one := range []struct {
			key   string
			given bool
		}{{"mtu", link.MTU != 0}, {"rx", len(link.RX) > 0}} {
			if one.given {
				c.failKey(fmt.Sprintf("the cluster sets up a %s link, so %s cannot be set", link.Kind, one.key), "", "remove it", under(linkSteps(i), one.key)...)
			}
		}
		for j, endpoint := range link.Endpoints {
			at := under(linkSteps(i), "endpoints", strconv.Itoa(j))
			name, iface := splitEndpoint(endpoint)
			switch {
			case c.e.Topology.Nodes[name] == nil || c.isGuest(endpoint): // reported already
			case !c.isRemote(endpoint):
				c.fail(fmt.Sprintf("%q is on this host, and a %s link joins pods of a cluster", endpoint, link.Kind), "",
					"give its node runtime: pod, or the link another kind", at...)
			case d.Claimed && iface == PodInterface:
				c.fail(fmt.Sprintf("%s of a pod is on the cluster's own network", PodInterface), "", fmt.Sprintf("choose another name, such as %q", name+":fast0"), at...)
			case !d.Claimed && iface != PodInterface:
				c.fail(fmt.Sprintf("the interface of a pod is %s, not %s", PodInterface, clip(iface)), "", fmt.Sprintf("write %q", name+":"+PodInterface), at...)
			}
		}
	}
}

// noRemotes refuses nodes on a cluster as ends of a link that nines makes on this host.
func (c *checker) noRemotes(link *Link, i int) {
	for j, endpoint := range link.Endpoints {
		if c.isRemote(endpoint) {
			c.fail(fmt.Sprintf("%q is a pod, which cannot join a %s link of this host", endpoint, link.Kind), listedKinds(joinsRemotes),
				"choose a kind that joins pods", under(linkSteps(i), "endpoints", strconv.Itoa(j))...)
		}
	}
}

// joinsRemotes is for kindsThat.
func joinsRemotes(d *LinkDescriptor) bool { return d.Remote }

// remoteTraffic refuses traffic that an engine in a pod cannot send, or that two clocks cannot time.
func (c *checker) remoteTraffic(t *Traffic) {
	if !c.isRemote(t.From) && !c.isRemote(t.To) {
		return
	}
	c.remoteBackend(t.Backend, []string{t.From, t.To}, "traffic", "backend")
	if t.Flows > 1 && t.FlowField == FlowSourceAddress {
		c.fail("a pod sends only from its own address", string(FlowSourcePort), "", "traffic", "flow_field")
	}
	if t.Packets == PacketsRecord {
		c.fail("the packets of an engine in a pod cannot be recorded: it cannot access this host's files", "", "remove packets", "traffic", "packets")
	}
	from, _ := splitEndpoint(t.From)
	to, _ := splitEndpoint(t.To)
	if from != to && !c.e.Cluster.Clock.OneWay() {
		c.fail(fmt.Sprintf("%q and %q may run on two machines, whose clocks differ by more than a packet's latency, so one-way latency cannot be measured", from, to), "",
			"measure the round trip: give from and to the same endpoint, and the other node app: {kind: reflect}; if the whole cluster is on this machine (nines cluster up), write cluster: {clock: shared}; if PTP or NTP synchronises its nodes' clocks, cluster: {clock: realtime}", "traffic")
	}
}

// remoteBackend refuses backends that hand frames to a device: between two pods are routers, which
// only the kernel in the pod knows. DPDK opens sockets that pods claim, and AF_XDP interfaces that they claim.
func (c *checker) remoteBackend(b Backend, endpoints []string, at ...string) {
	claimed := func(endpoint string) bool {
		link, known := c.ends[endpoint]
		return known && c.e.Topology.Links[link].Kind.Descriptor().DPDK == DPDKClaimed
	}
	switch b {
	case BackendUDP, "":
	case BackendDPDK:
		if !slices.ContainsFunc(endpoints, claimed) {
			c.fail("of a pod, DPDK opens only sockets that the pod claims", string(BackendUDP),
				"write backend: udp; or join the pods by a link of kind: pod-port whose class gives sockets, such as class: switch.nines.dev", at...)
		}
	case BackendXDP:
		if !slices.ContainsFunc(endpoints, claimed) {
			c.fail("of a pod, AF_XDP opens only interfaces that the pod claims", string(BackendUDP),
				"write backend: udp; or join the pods by a link of kind: pod-port whose class gives maps for AF_XDP sockets, such as class: af-xdp.nines.dev", at...)
		}
	default:
		c.fail(fmt.Sprintf("an engine in a pod sends by UDP sockets, because %s needs rights on the cluster's machine and addresses of its network", b), string(BackendUDP),
			"write backend: udp", at...)
	}
}
