package change

import (
	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
)

// KeepNames lets the endpoints that stay on a link keep their current device and socket names. A
// plan numbers them in the file's order, so removing an endpoint would rename those after it, and
// renamed endpoints are rebuilt. It is pure; the returned plan shares nothing that it changes.
func KeepNames(from, to *plan.Plan) *plan.Plan {
	kept := *to
	kept.Links = append([]plan.Link{}, to.Links...)
	kept.Nodes = append([]plan.Node{}, to.Nodes...)
	for i, now := range to.Links {
		old := from.Link(now.Name)
		if old == nil || old.Kind != now.Kind || !link.Of(now.Kind).Incremental {
			continue
		}
		endpoints := append([]plan.Endpoint{}, now.Endpoints...)
		keep(old.Endpoints, endpoints, func(e *plan.Endpoint) *string { return &e.FabricDevice })
		keep(old.Endpoints, endpoints, func(e *plan.Endpoint) *string { return &e.Socket })
		kept.Links[i].Endpoints = endpoints
		for _, e := range endpoints {
			nameSocket(&kept, e)
		}
	}
	return &kept
}

// nameSocket sets an endpoint's socket in its node.
func nameSocket(p *plan.Plan, e plan.Endpoint) {
	for i, n := range p.Nodes {
		if n.Name != e.Node {
			continue
		}
		p.Nodes[i].Interfaces = append([]plan.Interface{}, n.Interfaces...)
		for j, iface := range n.Interfaces {
			if iface.Name == e.Interface && iface.Device != nil && iface.Device.Socket != "" {
				device := *iface.Device
				device.Socket = e.Socket
				p.Nodes[i].Interfaces[j].Device = &device
			}
		}
	}
}

// keep gives the endpoints of now their names in old, and new endpoints the planned names that
// remain.
func keep(old, now []plan.Endpoint, name func(*plan.Endpoint) *string) {
	taken, planned := map[string]bool{}, []string{}
	isNew := []*plan.Endpoint{}
	for i := range now {
		e := &now[i]
		if *name(e) == "" {
			continue
		}
		planned = append(planned, *name(e))
		had := ""
		for j := range old {
			if old[j].Node == e.Node && old[j].Interface == e.Interface {
				had = *name(&old[j])
			}
		}
		if had == "" {
			isNew = append(isNew, e)
			continue
		}
		*name(e), taken[had] = had, true
	}
	for _, e := range isNew {
		// There are at least as many planned names as endpoints.
		for i := 0; taken[*name(e)] && i < len(planned); i++ {
			*name(e) = planned[i]
		}
		taken[*name(e)] = true
	}
}
