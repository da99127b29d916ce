package spec

import (
	"cmp"
	"strconv"
)

// Limits on a lab. A Linux bridge has 1024 port numbers, and 0 means no port (BR_MAX_PORTS in
// net/bridge/br_private.h).
const (
	maxNodes         = 8192
	maxLinks         = 16384
	maxLinkEndpoints = 1023
)

// checker finds what the types alone cannot show: names that do not exist, values that do not fit
// together. It reports places in the tree.
type checker struct {
	e    *Experiment
	root *node
	errs *collector
	// ends says for each endpoint which link has it.
	ends map[string]int
	// interfaces lists each node's interfaces, in the links' order.
	interfaces map[string][]string
	// byDPDK is the result of dpdkEndpoints, set after links has learned the endpoints.
	byDPDK map[string]bool
}

// fillIn sets the defaults that depend on other values; the tree shows what was given.
func fillIn(e *Experiment, root *node) {
	for i, link := range e.Topology.Links {
		if link.Name == "" {
			link.Name = defaultLinkName(i)
		}
		if s := link.Switch; s != nil && s.CPUs == 0 && s.CPUList == "" {
			s.CPUs = 1
		}
	}
	if e.Scripts == nil && e.HasScripts() {
		e.Scripts = defaultHostScripts()
	}
	if m := e.Management; m != nil && m.Mode == ManagementShared && root.get("management").get("dns") == nil {
		m.DNS = false
	}
	engine := Traffic{Backend: BackendUDP, IO: IOSingle, Wait: WaitBlock}
	if t := e.Traffic; t != nil {
		given := root.get("traffic")
		if given.get("ip") == nil && e.listsOnlyIPv6(t) {
			t.IP = 6
			if given.get("frame_bytes") == nil {
				t.FrameBytes = leastIPv6FrameBytes
			}
		}
		if t.Backend == BackendDPDK && given.get("io") == nil {
			t.IO = IOBatch
		}
		if t.Backend == BackendDPDK && given.get("wait") == nil {
			t.Wait = WaitSpin
		}
		engine = *t
	}
	for _, n := range e.Topology.Nodes {
		if n.Runtime.Descriptor().Remote && e.Cluster == nil {
			e.Cluster = defaultCluster()
		}
		if n.Runtime.Descriptor().Takes("rootfs") && n.Rootfs == nil {
			n.Rootfs = &Rootfs{Kind: rootfsKinds[0].Kind, Init: InitNines}
		}
		if n.Rootfs != nil && n.Image != "" {
			n.Rootfs.Kind = "" // the files are the image's; where this is written, a kind would be refused
		}
		if n.Runtime.Descriptor().Takes("driver") {
			n.Driver, n.Init = cmp.Or(n.Driver, DriverRunc), cmp.Or(n.Init, InitOfImage)
		}
		if a := n.App; a.Handling().HasEngine() {
			a.Backend = cmp.Or(a.Backend, engine.Backend)
			if a.Backend == BackendDPDK {
				a.IO, a.Wait = cmp.Or(a.IO, IOBatch), cmp.Or(a.Wait, WaitSpin)
			}
			a.IO = cmp.Or(a.IO, engine.IO)
			a.Wait = cmp.Or(a.Wait, engine.Wait)
		}
	}
}

// check reports everything about a decoded and filled experiment that cannot work
// on any host.
func check(e *Experiment, root *node, errs *collector) {
	c := &checker{e: e, root: root, errs: errs, ends: map[string]int{}, interfaces: map[string][]string{}}
	c.links()
	c.byDPDK = c.dpdkEndpoints()
	c.vmLinks()
	c.remoteLinks()
	c.linkReceive()
	c.impairments()
	c.addresses()
	c.macs()
	hosts := map[string]string{}
	for _, name := range c.nodeNames() {
		c.hostName(name, hosts)
		c.node(name, e.Topology.Nodes[name])
	}
	if e.Traffic != nil {
		c.traffic(e.Traffic)
	}
	if e.Method != nil {
		c.method(e.Method)
	}
	c.images()
	c.management()
	c.scripts()
	c.disturbances()
	c.events()
	c.power()
	c.cluster()
	c.dpdk()
	c.hardware()
	c.published()
}

// nodeNames lists the nodes in the file's order.
func (c *checker) nodeNames() []string { return namesOf(c.root.get("topology").get("nodes")) }

// fail reports a problem at the value that the steps lead to, or at the value around it.
func (c *checker) fail(problem, allowed, remedy string, steps ...string) {
	c.errs.fail(c.root.at(steps), quotedPath(steps), problem, allowed, remedy)
}

// failKey reports a problem with a key itself.
func (c *checker) failKey(problem, allowed, remedy string, steps ...string) {
	last := len(steps) - 1
	parent := c.root.at(steps[:last])
	for _, e := range parent.entries {
		if e.key.text == steps[last] {
			parent = e.key
			break
		}
	}
	c.errs.fail(parent, quotedPath(steps), problem, allowed, remedy)
}

// under extends steps without changing the caller's slice.
func under(steps []string, more ...string) []string {
	return append(append([]string(nil), steps...), more...)
}

func linkSteps(i int) []string { return []string{"topology", "links", strconv.Itoa(i)} }
