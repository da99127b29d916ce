package change

import (
	"encoding/json"
	"slices"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Compare finds the changes from one plan to another. A node is started afresh only if something changes
// that cannot change while it runs, and replaced only if that is of its network; a link only if its kind,
// its MTU, its device or, where the kind cannot add and remove single endpoints, its endpoints change.
func Compare(from, to *plan.Plan) Changes { return compare(from, to, link.SocketsOf(from)) }

// compare is Compare for containers that have the sockets in mounted, by node.
func compare(from, to *plan.Plan, mounted map[string][]string) Changes {
	d := differ{
		from: from, to: to, was: from.Index(), is: to.Index(), mounted: mounted, sockets: link.SocketsOf(to),
		renewed: map[string]bool{}, fresh: map[string]bool{}, touched: map[string]bool{},
	}
	d.nodes()
	d.guests()
	d.listFresh()
	d.links()
	d.interfaces()
	d.apps()
	d.services()
	d.received()
	d.moved()
	d.unreached()
	d.Hugepages = reserved(from) != reserved(to)
	d.Tuning = !tunedAlike(from, to)
	d.Power = !plan.Same(from.Power, to.Power)
	d.Keys = to.Management != nil && from.Management != nil && !plan.Same(from.Management.SSHKeys, to.Management.SSHKeys)
	// A disturbance that stops an engine knows its process, which changes with a restart.
	d.Disturbances = !plan.Same(from.Disturbances, to.Disturbances) || len(to.Disturbances) > 0 && len(d.ReplacedNodes)+len(d.FreshNodes)+len(d.RestartedApps) > 0
	return d.Changes
}

// reserved is what hugepages a plan wants reserved, as text.
func reserved(p *plan.Plan) string {
	if p.Hugepages == nil || p.Hugepages.Mode != spec.HugepagesReserve {
		return ""
	}
	text, err := json.Marshal(p.Hugepages)
	if err != nil {
		return err.Error() // impossible for a plan that was read or written
	}
	return string(text)
}

type differ struct {
	Changes
	from, to *plan.Plan
	was, is  *plan.Index
	// mounted are the sockets' folders that nodes have, sockets those that they need.
	mounted, sockets map[string][]string
	// renewed are nodes and interfaces that are rebuilt, fresh are nodes that start afresh.
	renewed, fresh map[string]bool
	// touched are links with a node that is rebuilt.
	touched map[string]bool
}

func (d *differ) nodes() {
	for _, n := range d.from.Nodes {
		if d.is.Node(n.Name) == nil {
			d.RemovedNodes = append(d.RemovedNodes, n.Name)
		}
	}
	for _, n := range d.to.Nodes {
		old := d.was.Node(n.Name)
		switch {
		case old == nil:
			d.AddedNodes = append(d.AddedNodes, n.Name)
			d.rebuild(n)
		case d.differs(*old, n) && !d.keepsNetwork(*old, n):
			d.replace(n)
		case d.differs(*old, n):
			d.fresh[n.Name] = true
		case !plan.Same(old.Routes, n.Routes) || !plan.Same(old.Loopback, n.Loopback) || !plan.Same(old.Sysctls, n.Sysctls) || !plan.Same(old.Env, n.Env):
			d.Adjusted = append(d.Adjusted, n.Name)
		}
		if old != nil && !d.renewed[n.Name] && d.to.LogsIn(n) && d.from.ManagementAddress(*old) != d.to.ManagementAddress(n) {
			d.Logins = append(d.Logins, n.Name) // its server listens at the old address
		}
		if old != nil && !d.renewed[n.Name] && (old.Restart != n.Restart || !plan.Same(old.Healthcheck, n.Healthcheck)) {
			d.Watched = append(d.Watched, n.Name)
		}
	}
}

// replace rebuilds a node with its network.
func (d *differ) replace(n plan.Node) {
	d.ReplacedNodes = append(d.ReplacedNodes, n.Name)
	d.rebuild(n)
}

func (d *differ) rebuild(n plan.Node) {
	d.renewed[n.Name] = true
	for _, i := range n.Interfaces {
		d.touched[i.Link] = true
	}
}

// differs is true for a node of which something changes that cannot change while it runs.
func (d *differ) differs(old, n plan.Node) bool {
	return !plan.Same(substance(d.movable(old, n)), substance(n)) || !plan.Same(node.WallsOf(old), node.WallsOf(n)) || d.seesNewSocket(n) ||
		lost(old.Sysctls, n.Sysctls) || startsWith(n) && !plan.Same(old.Env, n.Env) || routes(old) != routes(n) || d.movesPod(old, n) || d.seesOtherFiles(old, n)
}

// seesNewSocket is true for a node with its own root file system that needs a socket's folder it
// has not mounted. Mounted folders that it no longer needs do no harm.
func (d *differ) seesNewSocket(n plan.Node) bool {
	if !n.Runtime.Descriptor().OwnRoot || n.Apart() {
		return false
	}
	return slices.ContainsFunc(d.sockets[n.Name], func(socket string) bool {
		return !slices.Contains(d.mounted[n.Name], socket)
	})
}

// seesOtherFiles is true for a node that gets other files of names and keys, which it has had mounted
// since it was started.
func (d *differ) seesOtherFiles(old, n plan.Node) bool {
	return !n.Guest() && (!plan.Same(node.NameTargets(d.from, old), node.NameTargets(d.to, n)) || d.from.LogsIn(old) != d.to.LogsIn(n))
}

// movesPod is true for a pod that has to be made again: its environment is of its making, and it is
// on another cluster.
func (d *differ) movesPod(old, n plan.Node) bool {
	return n.Remote() && (!plan.Same(old.Env, n.Env) || !plan.Same(d.from.Cluster, d.to.Cluster))
}

// startsWith is true for a node whose first process is the image's, which has had the node's environment since it began.
func startsWith(n plan.Node) bool { return n.OCI != nil && n.OCI.Init != spec.InitOfNines }

// substance is the part of a node that cannot change while it runs.
func substance(n plan.Node) plan.Node {
	n.Loopback = nil
	n.Interfaces, n.Routes, n.Sysctls, n.App, n.DPDK, n.Why, n.Env, n.Exec, n.Scheduling = nil, nil, nil, nil, nil, nil, nil, nil, nil
	n.Receive, n.Restart, n.Healthcheck, n.Services, n.ServiceCPUs = nil, "", nil, nil, nil
	if n.Scripts != nil {
		n.Scripts = &spec.Scripts{} // a container sees the folder of its scripts, whatever is in it
	}
	return n
}

// routes is true if the kernel forwards in a node, which needs sysctls.
func routes(n plan.Node) bool { return n.App.Handling().Routes() }

// lost is true if a sysctl was set and no longer is: its original value is unknown.
func lost(old, now map[string]string) bool {
	for name := range old {
		if _, still := now[name]; !still {
			return true
		}
	}
	return false
}

func (d *differ) links() {
	for _, l := range d.from.Links {
		if d.is.Link(l.Name) == nil {
			d.RemovedLinks = append(d.RemovedLinks, l.Name)
		}
	}
	for _, l := range d.to.Links {
		old := d.was.Link(l.Name)
		switch {
		case old == nil:
			d.AddedLinks = append(d.AddedLinks, l.Name)
			d.renew(l.Endpoints)
		case old.Kind != l.Kind || old.MTU != l.MTU || old.Device != l.Device || old.Parent != l.Parent ||
			!plan.Same(program(*old), program(l)) || l.Management && !plan.Same(hostEnd(d.from), hostEnd(d.to)) || !plan.Same(old.Impairments, l.Impairments) || old.OffloadText() != l.OffloadText():
			d.ReplacedLinks = append(d.ReplacedLinks, l.Name)
			d.renew(l.Endpoints)
		default:
			d.endpoints(*old, l)
		}
	}
}

// hostEnd is what the management network has at the host's end, and its server.
func hostEnd(p *plan.Plan) *plan.Management {
	if p.Management == nil {
		return nil
	}
	m := *p.Management
	m.SSHKeys, m.Why = nil, nil
	return &m
}

// program is the part of a link's program that cannot change while it runs: its ports can, where
// the kind can add and remove single endpoints.
func program(l plan.Link) *plan.Switch {
	if l.Switch == nil {
		return nil
	}
	s := *l.Switch
	s.Why = nil
	if link.Of(l.Kind).Incremental {
		s.Settings.Ports = nil
	}
	return &s
}

// port is a file's settings for an endpoint's port.
func port(l plan.Link, e plan.Endpoint) *spec.SwitchPort {
	if l.Switch == nil {
		return nil
	}
	return l.Switch.Settings.Ports[e.Name()]
}

func (d *differ) renew(endpoints []plan.Endpoint) {
	for _, e := range endpoints {
		d.renewed[e.Name()] = true
	}
}

func (d *differ) endpoints(old, now plan.Link) {
	before, after := map[plan.Endpoint]bool{}, map[plan.Endpoint]bool{}
	for _, e := range old.Endpoints {
		before[e] = true
	}
	for _, e := range now.Endpoints {
		after[e] = true
	}
	stays := func(e plan.Endpoint) bool {
		was, is := d.was.Interface(e), d.is.Interface(e)
		return !d.renewed[e.Node] && before[e] && after[e] &&
			was != nil && is != nil && was.MAC == is.MAC && was.MTU == is.MTU &&
			plan.Same(was.Device, is.Device) && plan.Same(port(old, e), port(now, e))
	}
	var added, removed []plan.Endpoint
	for _, e := range old.Endpoints {
		if !stays(e) {
			removed = append(removed, e)
		}
	}
	for _, e := range now.Endpoints {
		if !stays(e) {
			added = append(added, e)
		}
	}
	switch {
	case len(added)+len(removed) == 0:
	case !link.Of(now.Kind).Incremental:
		d.ReplacedLinks = append(d.ReplacedLinks, now.Name)
		d.renew(now.Endpoints)
	default:
		for _, e := range removed {
			d.RemovedEndpoints = append(d.RemovedEndpoints, e.Name())
		}
		for _, e := range added {
			d.AddedEndpoints = append(d.AddedEndpoints, e.Name())
		}
		d.renew(added)
	}
}

func (d *differ) interfaces() {
	for _, n := range d.to.Nodes {
		for _, i := range n.Interfaces {
			e := plan.Endpoint{Node: n.Name, Interface: i.Name}
			old := d.was.Interface(e)
			if d.renewed[n.Name] || d.renewed[e.Name()] || old == nil {
				continue
			}
			if old.Alias != i.Alias || !plan.Same(old.Addresses, i.Addresses) || !plan.Same(old.Neighbours, i.Neighbours) {
				d.Reconfigured = append(d.Reconfigured, e.Name())
			}
		}
	}
}

// apps finds engines that have to be restarted: for another app, or another interface under the
// same app.
func (d *differ) apps() {
	for _, n := range d.to.Nodes {
		old := d.was.Node(n.Name)
		if old == nil || d.begins(n.Name) {
			continue
		}
		restart := !plan.Same(old.App, n.App) || n.App != nil && (!plan.Same(old.DPDK, n.DPDK) || !plan.Same(old.Scheduling, n.Scheduling))
		if n.App != nil {
			for _, i := range n.Interfaces {
				restart = restart || d.renewed[n.Name+":"+i.Name]
			}
		}
		if restart {
			d.RestartedApps = append(d.RestartedApps, n.Name)
		}
	}
}

// services finds services that have to be restarted: for other arguments, another environment, or an interface with
// another address.
func (d *differ) services() {
	restarted := addTo(&d.RestartedServices)
	for _, n := range d.to.Nodes {
		old := d.was.Node(n.Name)
		if old == nil || d.begins(n.Name) {
			continue
		}
		around := !plan.Same(old.Env, n.Env) || !plan.Same(old.Interfaces, n.Interfaces) || !plan.Same(old.Scheduling, n.Scheduling) ||
			d.from.EndsForServices() != d.to.EndsForServices()
		find := func(of plan.Node, name string) *spec.Service {
			if i := slices.IndexFunc(of.Services, func(s spec.Service) bool { return s.Name == name }); i >= 0 {
				return &of.Services[i]
			}
			return nil
		}
		for _, s := range n.Services {
			restarted.add(n.Name+":"+s.Name, around || !plan.Same(find(*old, s.Name), &s) || !slices.Equal(old.ServiceCPUs[s.Name], n.ServiceCPUs[s.Name]))
		}
		for _, s := range old.Services {
			restarted.add(n.Name+":"+s.Name, find(n, s.Name) == nil)
		}
	}
}

// tunedAlike is true if two plans want the same host settings.
func tunedAlike(a, b *plan.Plan) bool {
	return a.Tuning == b.Tuning && (a.Tuning == "" || slices.Equal(a.TunedCPUs(), b.TunedCPUs()))
}

// All are the changes that make a lab of a plan where there is none.
func All(to *plan.Plan) Changes {
	return Compare(&plan.Plan{Name: to.Name, Prefix: to.Prefix}, to)
}

// IsolationDiffers is true if two plans differ in what of the isolation cannot change while a lab runs.
func IsolationDiffers(from, to *plan.Plan) bool {
	return !plan.Same(isolationOf(from), isolationOf(to))
}

// isolationOf is the part of a plan's isolation that cannot change while a lab runs.
func isolationOf(p *plan.Plan) any {
	return struct {
		Degree          spec.Isolation
		Isolated, Quiet []int
	}{p.Isolation, p.IsolatedCPUs, p.QuietCPUs}
}
