package plan

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"nines.dev/nines/spec"
)

// node is a node of the experiment with what has been decided for it.
type node struct {
	name      string
	spec      *spec.Node
	endpoints []*endpoint // in the links' order
	loopback  []netip.Prefix
	hostName  string

	demand                      demand
	cpus                        []int
	exclusive                   bool
	isolated                    bool
	hugepageBytes, hugepageSize int64
	engineCPU                   int // -1: it runs no engine
	memoryNodes                 []int
	serviceCPUs                 map[string][]int
	why                         []string

	// link is set where this is not a node but a link's program, which wants CPUs and memory like a
	// node.
	link *link
	// pollers are the threads that poll the node's interfaces on their own CPUs and want CPUs like
	// a node; their pollsFor is the node.
	pollers, pollsFor *node
	receive           *Receive
	// managed is true for a node that has an interface on the management network.
	managed bool
	// ports are the interfaces that the app's engine opens.
	ports   []*endpoint
	dpdk    *DPDK
	devices []string
	// functions are the addresses of PCI functions that a program in the node drives.
	functions []string
}

// title is how an error or a note names a node.
func (n *node) title() string {
	if n.link != nil || n.pollsFor != nil {
		return n.name
	}
	return "node " + n.name
}

// key is the key in the file that has the node's CPUs.
func (n *node) key() string {
	of := n.name
	if n.pollsFor != nil {
		of = n.pollsFor.name
	}
	if n.link != nil {
		of = n.link.name
	}
	plain, _ := spec.SideOf(of)
	switch {
	case n.link != nil:
		return "links." + plain + ".switch"
	case n.pollsFor != nil:
		return "nodes." + plain + ".polling"
	}
	return "nodes." + plain
}

func (n *node) because(format string, args ...any) {
	n.why = append(n.why, fmt.Sprintf(format, args...))
}

func (n *node) app() spec.Handling { return n.spec.App.Handling() }

// link is a link of the experiment with what has been decided for it.
type link struct {
	index     int // in the file
	name      string
	kind      spec.LinkKind
	spec      *spec.Link
	endpoints []*endpoint
	mtu       int
	device    string
	subnet    netip.Prefix // that of the running lab, where the file lists no address of it
	program   *node        // the program between the endpoints; nil where the kind has none
}

// endpoint is an interface of a node on a link.
type endpoint struct {
	node         *node
	name         string // the interface's
	alias        string // what the file calls it, where the kernel takes no such name
	link         *link
	fabricDevice string
	mac          string
	addresses    []netip.Prefix // those of IPv4 first
	listed       bool           // the file says which it has, also that it has none
	measured     netip.Prefix   // the one of them that engines use

	rx             spec.Receive
	attach         Attach
	socket         string
	programListens bool    // the program, not the node, listens on the socket
	device         *Device // nil: DPDK does not open it
	// socketMap is true where a pod claims a map for AF_XDP sockets with the interface.
	socketMap bool
	function  Function
}

// kernel reports whether the interface is a kernel device.
func (e *endpoint) kernel() bool { return e.device == nil || e.device.Kernel }

func (e *endpoint) String() string { return e.node.name + ":" + e.name }

func (e *endpoint) ip() netip.Addr { return e.measured.Addr() }

// ipText is the address as a port has it.
func (e *endpoint) ipText() string {
	if !e.addressed() {
		return e.String()
	}
	if !e.measured.IsValid() {
		return ""
	}
	return e.ip().String()
}

func (w *work) buildNodes() error {
	for _, name := range slices.Sorted(maps.Keys(w.exp.Topology.Nodes)) {
		s := w.exp.Topology.Nodes[name]
		if s == nil {
			s = &spec.Node{} // "dut:" with nothing after it
		}
		n := &node{name: name, spec: s, engineCPU: -1, why: []string{}, devices: slices.Clone(s.Devices), managed: w.exp.Management != nil && !s.Runtime.Descriptor().Remote}
		w.nodes = append(w.nodes, n)
		w.byName[name] = n
	}
	return nil
}

func (w *work) buildLinks() error {
	names := map[string]bool{}
	taken := map[string]string{} // "node:interface" → the link that has it
	w.linkNameOf = map[string]string{}
	called := w.linkNames()
	for i, s := range w.exp.Topology.Links {
		l := &link{index: i, name: called[i], kind: s.Kind.Descriptor().Kind, spec: s}
		place := "link " + l.name
		if names[l.name] {
			return at(&Conflict{place, "another link has this name", "give each link a name of its own"}, l.steps())
		}
		names[l.name], w.linkNameOf[linkName(i, s)] = true, l.name
		for _, text := range s.Endpoints {
			n, name, err := w.parseEndpoint(place, text)
			if err != nil {
				return at(err, l.steps("endpoints"))
			}
			if other, used := taken[text]; used {
				return at(&Conflict{place, fmt.Sprintf("endpoint %s is on link %s already", text, other), "an interface belongs to one link"}, l.steps())
			}
			taken[text] = l.name
			e := &endpoint{node: n, name: name, alias: n.spec.InterfaceAliases[name], link: l}
			l.endpoints = append(l.endpoints, e)
			n.endpoints = append(n.endpoints, e)
		}
		// A pod's network is there for one pod, too, as for that of a baseline (alone).
		if len(l.endpoints) < 2 && !l.remote() {
			return at(&Conflict{place, fmt.Sprintf("has %d endpoints", len(l.endpoints)), "a link joins at least two"}, l.steps())
		}
		if l.kind.Descriptor().Pair && len(l.endpoints) != 2 {
			return at(&Conflict{place, fmt.Sprintf("has %d endpoints; %s joins two", len(l.endpoints), l.kind), spec.UseAnyEnds()}, l.steps())
		}
		l.program = programOf(l)
		w.links = append(w.links, l)
	}
	return nil
}

// linkName is the user's name, or link1, link2, … by the link's place in the file.
func linkName(i int, s *spec.Link) string {
	if s.Name != "" {
		return s.Name
	}
	return fmt.Sprintf("link%d", i+1)
}

// parseEndpoint resolves "node:interface" to the node.
func (w *work) parseEndpoint(place, text string) (*node, string, error) {
	nodeName, name, ok := strings.Cut(text, ":")
	if !ok || name == "" {
		return nil, "", &Conflict{place, fmt.Sprintf("%q is not an endpoint", text), `write "node:interface"`}
	}
	n := w.byName[nodeName]
	if n == nil {
		return nil, "", &Conflict{place, fmt.Sprintf("endpoint %s names no node", text), "the nodes are " + strings.Join(slices.Sorted(maps.Keys(w.exp.Topology.Nodes)), ", ")}
	}
	if len(name) > maxInterfaceName {
		return nil, "", &Conflict{place, fmt.Sprintf("the interface name of %s has %d characters", text, len(name)), fmt.Sprintf("Linux takes at most %d", maxInterfaceName)}
	}
	return n, name, nil
}

// endpoint finds an endpoint of the links.
func (w *work) endpoint(place, text string) (*endpoint, error) {
	n, name, err := w.parseEndpoint(place, text)
	if err != nil {
		return nil, err
	}
	var have []string
	for _, e := range n.endpoints {
		if e.name == name {
			return e, nil
		}
		have = append(have, e.String())
	}
	remedy := "put " + text + " on a link"
	if len(have) > 0 {
		remedy = "node " + n.name + " has " + strings.Join(have, ", ")
	}
	return nil, &Conflict{place, text + " is on no link", remedy}
}
