package spec

import (
	"fmt"
	"strconv"
)

// Limits on a lab. A Linux bridge has 1024 port numbers, of which 0 is none
// (BR_MAX_PORTS in net/bridge/br_private.h).
const (
	maxNodes         = 8192
	maxLinks         = 16384
	maxLinkEndpoints = 1023
)

// checker finds what the types alone cannot tell: names that must exist, values
// that must fit one another. It points at the tree's places.
type checker struct {
	e    *Experiment
	root *node
	errs *collector
	// broken is what a check may not rely on; soundEndpoints and soundApps are
	// endpointsKnown and appsKnown.
	*broken
	soundEndpoints, soundApps bool
	// ends says for each endpoint which link has it.
	ends map[string]int
	// interfaces lists each node's interfaces, in the links' order.
	interfaces map[string][]string
	// byDPDK is dpdkEndpoints, once links has learned the endpoints.
	byDPDK map[string]bool
}

// fillIn sets the defaults that depend on other values; the tree tells what was given.
func fillIn(e *Experiment, root *node) {
	for i, link := range e.Topology.Links {
		if link.Name == "" {
			link.Name = defaultLinkName(i)
		}
		if s := link.Switch; s != nil && s.CPUs == 0 && s.CPUList == "" {
			s.CPUs = 1
		}
	}
	engine := Traffic{Backend: BackendUDP, IO: IOSingle, Wait: WaitBlock}
	if t := e.Traffic; t != nil {
		given := root.get("traffic")
		if t.Backend == BackendDPDK && given.get("io") == nil {
			t.IO = IOBatch
		}
		if t.Backend == BackendDPDK && given.get("wait") == nil {
			t.Wait = WaitSpin
		}
		engine = *t
	}
	for _, n := range e.Topology.Nodes {
		if n.Runtime.Descriptor().Takes("rootfs") && n.Rootfs == nil {
			n.Rootfs = &Rootfs{Kind: RootfsMinimal, Init: InitNines}
		}
		if a := n.App; a != nil && a.Kind.HasEngine() {
			a.Backend = either(a.Backend, engine.Backend)
			if a.Backend == BackendDPDK {
				a.IO, a.Wait = either(a.IO, IOBatch), either(a.Wait, WaitSpin)
			}
			a.IO = either(a.IO, engine.IO)
			a.Wait = either(a.Wait, engine.Wait)
		}
	}
}

func either[T ~string](given, otherwise T) T {
	if given != "" {
		return given
	}
	return otherwise
}

// checkLimits keeps the other checks from work that no lab needs.
func checkLimits(e *Experiment, root *node, errs *collector) (within bool) {
	c := &checker{e: e, root: root, errs: errs}
	if n := len(e.Topology.Nodes); n > maxNodes {
		c.fail(fmt.Sprintf("%d nodes", n), fmt.Sprintf("at most %d", maxNodes), "", "topology", "nodes")
	}
	if n := len(e.Topology.Links); n > maxLinks {
		c.fail(fmt.Sprintf("%d links", n), fmt.Sprintf("at most %d", maxLinks), "", "topology", "links")
	}
	return len(e.Topology.Nodes) <= maxNodes && len(e.Topology.Links) <= maxLinks
}

// check reports everything about a decoded and filled experiment that cannot work
// on any host. Of what is broken it says nothing, nor of what depends on it.
func check(e *Experiment, root *node, broken *broken, errs *collector) {
	c := &checker{e: e, root: root, errs: errs, broken: broken, ends: map[string]int{}, interfaces: map[string][]string{}}
	c.soundEndpoints, c.soundApps = c.endpointsKnown(), c.appsKnown()
	for _, name := range c.nodeNames() {
		c.key("Topology.nodes", name, "topology", "nodes")
	}
	c.links()
	c.byDPDK = c.dpdkEndpoints()
	c.vmLinks()
	c.linkReceive()
	c.addresses()
	for _, name := range c.nodeNames() {
		c.node(name, e.Topology.Nodes[name])
	}
	if e.Traffic != nil && c.there("traffic") {
		c.traffic(e.Traffic)
	}
	if e.Method != nil && c.there("method") {
		c.method(e.Method)
	}
	c.disturbances()
	c.dpdk()
	c.hardware()
	c.published()
}

// nodeNames lists the nodes in the file's order.
func (c *checker) nodeNames() []string {
	if c.e.Topology.Nodes == nil {
		return nil
	}
	return namesOf(c.root.get("topology").get("nodes"))
}

// soundKeys is sound for several keys of one section.
func (c *checker) soundKeys(at []string, keys ...string) bool {
	for _, key := range keys {
		if !c.sound(under(at, key)...) {
			return false
		}
	}
	return true
}

// endpointsKnown is true if the file's endpoints could all be read, and so each node's
// interfaces.
func (c *checker) endpointsKnown() bool {
	for i := range c.e.Topology.Links {
		if !c.soundKeys(linkSteps(i), "endpoints") {
			return false
		}
	}
	return c.there("topology", "links") && c.there("topology", "nodes")
}

// appsKnown is true if it could be read which node has which app, also those nodes that
// only a sweep adds.
func (c *checker) appsKnown() bool {
	for name := range c.e.Topology.Nodes {
		if !c.sound("topology", "nodes", name, "app") {
			return false
		}
	}
	for _, endpoint := range c.e.endpoints() {
		if name, _ := splitEndpoint(endpoint); !c.there("topology", "nodes", name) {
			return false
		}
	}
	return c.there("topology", "nodes")
}

// fail reports a problem at the value that the steps lead to, or what encloses it.
func (c *checker) fail(problem, allowed, remedy string, steps ...string) {
	c.failAt(c.root.at(steps), problem, allowed, remedy, steps...)
}

// failAt says nothing of a value that could not be read, or that a sweep was to replace.
func (c *checker) failAt(n *node, problem, allowed, remedy string, steps ...string) {
	path := quotedPath(steps)
	if c.broken != nil && c.has(path) {
		return
	}
	c.errs.fail(n, path, problem, allowed, remedy)
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
	c.failAt(parent, problem, allowed, remedy, steps...)
}

// key checks the form of a key that a user chose.
func (c *checker) key(which, key string, parent ...string) {
	p := keyPatterns[which]
	if !matches(p.pattern, key) {
		c.failKey(fmt.Sprintf("%q cannot be %s", clip(key), p.what), p.form, "", append(parent, key)...)
	}
}

// under extends steps without touching the caller's.
func under(steps []string, more ...string) []string {
	return append(append([]string(nil), steps...), more...)
}

func linkSteps(i int) []string { return []string{"topology", "links", strconv.Itoa(i)} }
