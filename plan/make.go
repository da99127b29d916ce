package plan

import (
	"fmt"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// work is a plan in the making.
type work struct {
	exp             *spec.Experiment
	inv             *host.Inventory
	before          *kept // what the running lab has
	prefix          string
	nodes           []*node // sorted by name
	byName          map[string]*node
	links           []*link           // in the file's order, behind those that run
	linkNameOf      map[string]string // by the name in the file
	stream          *spec.Traffic
	courses         []course    // the traffic's; none without traffic, and two in a duet
	path            []*endpoint // that of all courses, one after the other
	cpus            *assignment
	isolated, quiet []int
	cards           []*card
	managed         *management // nil without a management network
	disturbances    []Disturbance
	notes           []string
	shared          []string // as in Plan
	refused         []error  // demands that cannot be met, but do not keep others from being checked
}

// Make assigns the host's resources to the experiment. Its errors are *Conflict where the
// experiment contradicts itself and *Impossible where the host does not suffice.
func Make(exp *spec.Experiment, inv *host.Inventory) (*Plan, error) { return makeFrom(exp, inv, nil) }

// makeFrom is Change, or Make where no lab runs.
func makeFrom(exp *spec.Experiment, inv *host.Inventory, running *Plan) (*Plan, error) {
	switch {
	case waitsByPlan(exp):
		return makeWaiting(exp, inv, running)
	case exp.Duet != nil:
		return makeDuet(exp, inv, running)
	}
	return decided(exp, inv, running)
}

// decided plans an experiment that leaves no way to wait open.
func decided(exp *spec.Experiment, inv *host.Inventory, running *Plan) (*Plan, error) {
	w := &work{exp: exp, inv: inv, before: keptOf(running), byName: map[string]*node{}}
	for _, step := range []func() error{
		w.choosePrefix, w.buildNodes, w.buildLinks, w.keepOrder, w.resolveTraffic, w.checkGuests, w.checkRemotes, w.attach, w.assignFunctions, w.findReceiveModes, w.checkOffloads,
		w.nameHosts, w.nameDevices, w.sizeLinks,
		w.assignMACs, w.assignAddresses, w.checkVersions, w.checkIPv6MTUs, w.checkHops, w.checkRoutes, w.checkDrain,
		w.collectDemands, w.unlessRefused, w.assignCPUs, w.divideServices, w.isolate, w.noteServices,
		w.checkScheduling, w.receive, w.disturb, w.noteSystemd, w.assignMemory, w.unlessRefused, w.assignDPDK, w.limitHugepages,
		w.planManagement,
	} {
		if err := step(); err != nil {
			return nil, w.refusal(err)
		}
	}
	return w.result(), nil
}

func (w *work) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// result returns the finished work as plain data.
func (w *work) result() *Plan {
	p := &Plan{
		Schema:           Schema,
		Name:             w.exp.Name,
		Prefix:           w.prefix,
		HousekeepingCPUs: w.cpus.housekeeping,
		Isolation:        w.isolation(),
		IsolatedCPUs:     w.isolated,
		QuietCPUs:        w.quiet,
		Tuning:           w.tuning(),
		Nodes:            []Node{},
		Links:            []Link{},
		Notes:            []string{},
	}
	for _, n := range w.nodes {
		p.Nodes = append(p.Nodes, w.nodeResult(n))
	}
	for _, l := range w.links {
		p.Links = append(p.Links, w.linkResult(l))
	}
	if w.managed != nil {
		p.Management = &w.managed.Management
		p.Links = append(p.Links, w.managementLink())
	}
	p.Cluster = w.cluster()
	p.PhysicalFunctions = w.physicalFunctions()
	p.Hugepages = w.hugepages()
	if w.stream != nil {
		p.Traffic = w.trafficResult(w.courses[0])
		p.Duet = w.duetResult()
	}
	p.Disturbances, p.Scripts = w.disturbances, w.exp.Scripts
	p.Power = w.power()
	for _, event := range w.exp.Events {
		happens := *event
		happens.Link = w.linkNameOf[event.Link]
		p.Events = append(p.Events, happens)
	}
	p.Notes = append(p.Notes, w.notes...)
	p.Shared = w.shared
	return p
}

func (w *work) nodeResult(n *node) Node {
	out := Node{
		Name:            n.name,
		Runtime:         n.spec.Runtime.Descriptor().Name,
		HostName:        n.hostName,
		CPUs:            n.cpus,
		CPUsExclusive:   n.exclusive,
		Isolated:        n.isolated,
		MemoryNodes:     n.memoryNodes,
		MemoryBytes:     int64(n.spec.Memory),
		HugepageBytes:   n.hugepageBytes,
		HugepageSize:    n.hugepageSize,
		Rootfs:          n.spec.Rootfs,
		Image:           w.imageResult(n),
		OCI:             w.ociResult(n),
		Scheduling:      n.spec.Scheduling,
		Env:             n.spec.Env,
		Exec:            n.spec.Exec,
		Healthcheck:     n.spec.Healthcheck,
		Services:        n.spec.Services,
		ServiceCPUs:     n.serviceCPUs,
		Scripts:         n.spec.Scripts,
		Mounts:          n.spec.Mounts,
		Privileged:      n.spec.Privileged,
		Allow:           allowed(n.spec.Allow),
		NoNewPrivileges: n.spec.NoNewPrivileges,
		Sysctls:         w.sysctls(n),
		Interfaces:      []Interface{},
		Loopback:        (&endpoint{addresses: n.loopback}).cidrs(),
		Routes:          w.routes(n),
		App:             w.appResult(n),
		VM:              w.vmResult(n),
		Pod:             n.podResult(),
		DPDK:            n.dpdk,
		Devices:         n.devices,
		Functions:       n.functions,
		Receive:         n.receive,
		Why:             n.why,
	}
	if n.spec.Restart != spec.RestartNo {
		out.Restart = n.spec.Restart
	}
	out.Why = append(out.Why, out.rights()...)
	if len(n.spec.Devices) > 0 {
		out.Why = append(out.Why, "its programs may open "+strings.Join(n.spec.Devices, " ")+", as the file asks")
	}
	if out.VM != nil {
		out.MemoryBytes = out.VM.MemoryBytes
	}
	for _, e := range n.endpoints {
		i := e.result()
		i.Neighbours = w.neighbours(e)
		out.Interfaces = append(out.Interfaces, i)
	}
	if e := w.managementEnd(n); e != nil {
		out.Interfaces = append(out.Interfaces, e.result()) // never measured, so it needs no static neighbours
	}
	return out
}

func (w *work) linkResult(l *link) Link {
	out := Link{Name: l.name, Kind: l.kind, MTU: l.mtu, Device: l.device, Parent: l.spec.Parent, Endpoints: []Endpoint{}, Switch: w.switchResult(l), Impairments: l.impairments(), GRO: l.spec.GRO, Offloads: l.spec.Offloads}
	for _, e := range l.endpoints {
		out.Endpoints = append(out.Endpoints, Endpoint{
			Node: e.node.name, Interface: e.name, FabricDevice: e.fabricDevice, Guest: e.node.guest(),
			Attach: e.attach, Socket: e.socket, SocketServer: e.programListens, Function: e.function,
		})
	}
	return out
}

func (e *endpoint) result() Interface {
	rx := e.rx
	if rx == spec.ReceiveInterrupt {
		rx = ""
	}
	return Interface{
		RX:        rx,
		Name:      e.name,
		Alias:     e.alias,
		Link:      e.link.name,
		MAC:       e.mac,
		Addresses: e.cidrs(),
		MTU:       e.link.mtu,

		PCI:       e.guestPCI(),
		SocketMap: e.socketMap,
		Device:    e.device,
	}
}
