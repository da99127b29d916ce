package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// udpPort is where every engine of a lab listens, and where packets to a device of the user's go.
func (w *work) udpPort() int {
	if w.stream == nil {
		return spec.EnginePort
	}
	return cmp.Or(w.stream.Port, spec.EnginePort)
}

// isStop reports whether packets are addressed to a node: there an engine of the lab or a program of the user's takes
// them, and the kernel does not pass them on.
func (w *work) isStop(n *node) bool {
	return n.app().HasEngine() || n.app().ToDevice() ||
		w.stream != nil && (n == w.path[0].node || n == w.path[len(w.path)-1].node)
}

// hop is one step of a packet: out of an endpoint, over a link, into the next.
type hop struct{ out, in *endpoint }

// hops splits a path into its links. The path contains both ends of each link in turn; the
// reflecting endpoint of a round trip appears once and is both in and out.
func (w *work) hops() []hop { return hopsOf(w.path) }

func hopsOf(path []*endpoint) []hop {
	var list []hop
	for i := 0; i+1 < len(path); i++ {
		if path[i].link == path[i+1].link {
			list = append(list, hop{path[i], path[i+1]})
		}
	}
	return list
}

// beyond is the interface that frames of a hop are addressed to: the next one, or the first behind devices that pass
// frames on unchanged.
func beyond(hops []hop, i int) *endpoint {
	for i+1 < len(hops) && hops[i].in.node.app().Through() {
		i++
	}
	return hops[i].in
}

// peer finds what a port sends to: the MAC address of the next interface, and the IP address of the
// next engine or device, as routers between them forward by it.
func (w *work) peer(hops []hop, i int) (ip, mac string) {
	mac = beyond(hops, i).mac
	for ; i < len(hops); i++ {
		if i+1 == len(hops) || w.isStop(hops[i].in.node) {
			return hops[i].in.ipText(), mac
		}
	}
	return "", mac
}

// reversed returns the hops of the way back.
func reversed(hops []hop) []hop {
	back := make([]hop, 0, len(hops))
	for _, h := range slices.Backward(hops) {
		back = append(back, hop{h.in, h.out})
	}
	return back
}

// port describes an interface as an engine uses it. Its peer is where it sends on the traffic's
// path, else on the way back, else the other end of a link with two ends.
func (w *work) port(e *endpoint) Port {
	p := Port{Node: e.node.name, Interface: e.name, LocalIP: e.ipText(), LocalMAC: e.mac, UDPPort: w.udpPort()}
	hops := w.hops()
	for _, way := range [][]hop{hops, reversed(hops)} {
		for i, h := range way {
			if h.out == e {
				p.PeerIP, p.PeerMAC = w.peer(way, i)
				return p
			}
		}
	}
	if others := e.link.endpoints; len(others) == 2 {
		other := others[0]
		if other == e {
			other = others[1]
		}
		p.PeerIP, p.PeerMAC = other.ipText(), other.mac
	}
	return p
}

func (w *work) trafficResult(c course) *Traffic {
	from, to := c.from(), c.to()
	t := &Traffic{
		Role:      RolePair,
		RoundTrip: c.round,
		From:      w.port(from),
		To:        w.port(to),
		FromCPU:   from.node.engineCPU,
		ToCPU:     to.node.engineCPU,
		Path:      []string{},
		Way:       w.way(c),
		Stream:    *c.stream,
	}
	if from.node == to.node {
		t.Role = RoleLoop
	}
	for _, e := range c.path {
		t.Path = append(t.Path, e.String())
	}
	return t
}

// appResult returns what a node does with packets, and through which ports.
func (w *work) appResult(n *node) *App {
	if n.spec.App == nil {
		return nil
	}
	app := &App{Kind: n.spec.App.Kind, Leaves: n.spec.App.Leaves, Forwarding: n.spec.App.Forwarding, CPU: n.engineCPU}
	if !n.app().HasEngine() {
		app.CPU = -1
		return app
	}
	app.Backend, app.IO, app.Wait = w.appBackend(n), n.spec.App.IO, n.spec.App.Wait
	if app.Backend == spec.BackendDPDK {
		defaultTo(&app.IO, spec.IOBatch)
		defaultTo(&app.Wait, spec.WaitSpin)
	}
	if w.stream != nil {
		defaultTo(&app.IO, w.stream.IO)
		defaultTo(&app.Wait, w.stream.Wait)
	}
	defaultTo(&app.IO, spec.IOSingle)
	defaultTo(&app.Wait, spec.WaitBlock)
	for _, e := range n.ports {
		app.Ports = append(app.Ports, w.port(e))
	}
	app.Work = w.workOf(n)
	return app
}

// workOf is the work of a node's engine, for each side that it serves; nil: none.
func (w *work) workOf(n *node) []spec.Duration {
	all := []spec.Duration{n.spec.App.Work}
	if w.sidesOn(n) > 1 {
		sides := w.exp.Duet.Sides
		all = []spec.Duration{sides[0].Work[n.name], sides[1].Work[n.name]}
	}
	if !slices.ContainsFunc(all, func(d spec.Duration) bool { return d > 0 }) {
		return nil
	}
	return all
}

// appBackend is the backend of a node's app; empty without an engine.
func (w *work) appBackend(n *node) spec.Backend {
	if !n.app().HasEngine() {
		return ""
	}
	backend := n.spec.App.Backend
	if w.stream != nil {
		defaultTo(&backend, w.stream.Backend)
	}
	defaultTo(&backend, spec.BackendUDP)
	return backend
}

// appEndpoints returns the interfaces that an app's engine opens: those on the traffic's path, in
// and out.
func (w *work) appEndpoints(n *node) ([]*endpoint, error) {
	kind, want := n.app().Kind, n.app().Kind.Descriptor().Ports*w.sidesOn(n)
	var ends []*endpoint
	for _, e := range w.path {
		if e.node == n && !slices.Contains(ends, e) {
			ends = append(ends, e)
		}
	}
	if len(ends) == 0 {
		ends = n.endpoints
		if n.app().SendsBack() && len(ends) > want {
			w.note("node %s reflects on %s only; no traffic comes to its other interfaces.", n.name, ends[0])
			ends = ends[:want]
		}
	}
	if len(ends) != want {
		return nil, at(&Conflict{"node " + n.name,
			fmt.Sprintf("app %s works on %s, and the node has %d off the traffic's way", kind, terminal.Count(want, "interface"), len(ends)),
			"give it that many links, or lead the traffic through it"}, n.steps())
	}
	return ends, nil
}

// routes are the user's routes, and one to each engine that the node reaches through kernel
// routers. The latter are host routes, which cannot clash with the subnets of a node's own
// interfaces. They would go before those of a routing protocol, so a node that runs one gets none.
func (w *work) routes(n *node) []spec.Route {
	list := slices.Clone(n.spec.Routes)
	if n.spec.App != nil && n.spec.App.Dynamic {
		return list
	}
	add := func(hops []hop) {
		for i, h := range hops {
			if h.out.node != n || !h.out.kernel() || w.isStop(h.in.node) || i+1 == len(hops) {
				continue
			}
			ip, _ := w.peer(hops, i)
			next := beyond(hops, i)
			only := "/" + strconv.Itoa(next.ip().BitLen())
			r := spec.Route{To: ip + only, Via: next.ip().String(), Interface: h.out.name}
			if next != h.in { // not in the link's subnet, and known as a permanent neighbour
				if r.Via = ""; ip != next.ip().String() {
					list = append(list, spec.Route{To: next.ip().String() + only, Interface: h.out.name})
					r.Via = next.ip().String()
				}
			}
			if !slices.ContainsFunc(list, func(o spec.Route) bool { return o.To == r.To }) {
				list = append(list, r)
			}
		}
	}
	if w.stream != nil {
		hops := w.hops()
		add(hops)
		add(reversed(hops))
	}
	return list
}

// sysctls are the user's sysctls, and those that kernel forwarding or a node's own packets need;
// the user's take precedence.
func (w *work) sysctls(n *node) map[string]string {
	set := map[string]string{}
	if n.app().Routes() {
		set["net.ipv4.ip_forward"] = "1"
	}
	if w.stream != nil && (w.routed() || w.direct()) {
		// Packets arrive at an interface that the reverse path does not use, and, in a node that
		// has both ends, with one of the node's own addresses as source
		// (Documentation/networking/ip-sysctl.rst: rp_filter, accept_local).
		if slices.ContainsFunc(w.path, func(e *endpoint) bool { return e.node == n }) {
			set["net.ipv4.conf.all.rp_filter"] = "0"
			set["net.ipv4.conf.default.rp_filter"] = "0"
			for _, e := range n.endpoints {
				if e.kernel() { // with slashes, as names may contain dots
					set["net/ipv4/conf/"+e.name+"/rp_filter"] = "0"
				}
			}
		}
		from, to := w.path[0].node, w.path[len(w.path)-1].node
		if n == from && n == to {
			set["net.ipv4.conf.all.accept_local"] = "1"
		}
	}
	for key := range n.spec.Sysctls { // sysctl(8) takes both forms
		delete(set, strings.ReplaceAll(key, "/", "."))
		delete(set, strings.ReplaceAll(key, ".", "/"))
	}
	maps.Copy(set, n.spec.Sysctls)
	if len(set) == 0 {
		return nil
	}
	return set
}

// direct reports whether both ends are in one node, with only a link between them that nines makes.
func (w *work) direct() bool {
	c := w.courses[0] // in a duet the other is like it
	return len(c.path) == 2 && c.from().node == c.to().node && !c.from().remote()
}

// routed reports whether the kernel or a device of the user's passes packets on, on the traffic's path.
func (w *work) routed() bool {
	return slices.ContainsFunc(w.path, func(e *endpoint) bool { return e.node.app().Routes() || e.node.app().IsDevice() })
}

// KernelForwards is whether the node's kernel forwards IP. It is not known where the network is not the node's own:
// there nines leaves the kernel's settings alone.
func (n Node) KernelForwards() (forwards, known bool) {
	forwards = n.App.Handling().Routes()
	return forwards, forwards || !n.Remote()
}

// IPv6Forwarding is missing in a kernel without IPv6.
const IPv6Forwarding = "net/ipv6/conf/all/forwarding"

// AppSysctls are the sysctls that what the node does with packets needs. A kernel that forwards could carry packets past
// the node's device, and new network namespaces have the host's setting for IPv4
// (Documentation/admin-guide/sysctl/net.rst: devconf_inherit_init_net).
func (n Node) AppSysctls() map[string]string {
	wanted := map[string]string{}
	forwards, known := n.KernelForwards()
	if known {
		value := "0"
		if forwards {
			value = "1"
		}
		wanted["net/ipv4/ip_forward"], wanted[IPv6Forwarding] = value, value
	}
	if forwards {
		// Reverse path filtering would drop packets that arrive on another interface than the
		// answer would take; the kernel uses the larger value of all and the device.
		for _, scope := range []string{"all", "default"} {
			wanted["net/ipv4/conf/"+scope+"/rp_filter"] = "0"
		}
		for _, i := range n.Interfaces {
			if !i.InKernel() {
				continue
			}
			wanted["net/ipv4/conf/"+i.Name+"/rp_filter"] = "0"
		}
	}
	return wanted
}
