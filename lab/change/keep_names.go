package change

import (
	"slices"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
)

// KeepNames lets the endpoints that stay on a link keep their current device and socket names. A
// plan numbers them in the file's order, so removing an endpoint would rename those after it, and
// renamed endpoints are rebuilt. It is pure; the returned plan shares nothing that it changes.
func KeepNames(from, to *plan.Plan) *plan.Plan {
	kept := *to
	kept.Links = append([]plan.Link{}, to.Links...)
	was, sockets := from.Index(), map[string]string{}
	for i, now := range to.Links {
		old := was.Link(now.Name)
		if old == nil || old.Kind != now.Kind || !link.Of(now.Kind).Incremental {
			continue
		}
		endpoints := append([]plan.Endpoint{}, now.Endpoints...)
		keep(old.Endpoints, endpoints, func(e *plan.Endpoint) *string { return &e.FabricDevice })
		keep(old.Endpoints, endpoints, func(e *plan.Endpoint) *string { return &e.Socket })
		kept.Links[i].Endpoints = endpoints
		for _, e := range endpoints {
			sockets[e.Name()] = e.Socket
		}
	}
	kept.Nodes = make([]plan.Node, 0, len(to.Nodes))
	for _, n := range to.Nodes {
		n.Interfaces = nameSockets(n, sockets)
		kept.Nodes = append(kept.Nodes, n)
	}
	return &kept
}

// nameSockets are a node's interfaces with the sockets of their endpoints.
func nameSockets(n plan.Node, sockets map[string]string) []plan.Interface {
	interfaces := slices.Clone(n.Interfaces)
	for i, iface := range interfaces {
		socket, kept := sockets[n.Name+":"+iface.Name]
		if kept && iface.Device != nil && iface.Device.Socket != "" {
			device := *iface.Device
			device.Socket = socket
			interfaces[i].Device = &device
		}
	}
	return interfaces
}

// keep gives the endpoints of now their names in old, and new endpoints the planned names that
// remain.
func keep(old, now []plan.Endpoint, name func(*plan.Endpoint) *string) {
	taken, planned := map[string]bool{}, []string{}
	isNew := []*plan.Endpoint{}
	names := map[string]string{}
	for i := range old {
		names[old[i].Name()] = *name(&old[i])
	}
	for i := range now {
		e := &now[i]
		if *name(e) == "" {
			continue
		}
		planned = append(planned, *name(e))
		had := names[e.Name()]
		if had == "" {
			isNew = append(isNew, e)
			continue
		}
		*name(e), taken[had] = had, true
	}
	next := 0 // those before it are taken
	for _, e := range isNew {
		// There are at least as many planned names as endpoints.
		for ; taken[*name(e)] && next < len(planned); next++ {
			*name(e) = planned[next]
		}
		taken[*name(e)] = true
	}
}
