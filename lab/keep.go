package lab

import (
	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
)

// keepNames gives the endpoints that a link keeps the names that they have now. A plan
// numbers them in the file's order, so an endpoint that goes would rename those after
// it, and what is renamed is rebuilt. It is pure; the plan that it returns shares
// nothing that it changes.
func keepNames(from, to *plan.Plan) *plan.Plan {
	kept := *to
	kept.Links = append([]plan.Link{}, to.Links...)
	kept.Nodes = append([]plan.Node{}, to.Nodes...)
	for i, now := range to.Links {
		old := findLink(from, now.Name)
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

// nameSocket tells an endpoint's node which socket it has.
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

// keep gives the endpoints of now the names that they have in old, and the new ones
// those of the planned names that are free then.
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
