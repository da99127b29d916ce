package plan

// Node is the node with a name; nil if there is none.
func (p *Plan) Node(name string) *Node {
	for i := range p.Nodes {
		if p.Nodes[i].Name == name {
			return &p.Nodes[i]
		}
	}
	return nil
}

// Link is the link with a name; nil if there is none.
func (p *Plan) Link(name string) *Link {
	for i := range p.Links {
		if p.Links[i].Name == name {
			return &p.Links[i]
		}
	}
	return nil
}

// Interface is the interface that an endpoint names; nil if there is none.
func (p *Plan) Interface(e Endpoint) *Interface {
	n := p.Node(e.Node)
	if n == nil {
		return nil
	}
	for i := range n.Interfaces {
		if n.Interfaces[i].Name == e.Interface {
			return &n.Interfaces[i]
		}
	}
	return nil
}

// EndOf is the link that an interface is on, and its end there; nil if it is on none.
func (p *Plan) EndOf(nodeName, interfaceName string) (*Link, Endpoint) {
	for i := range p.Links {
		for _, e := range p.Links[i].Endpoints {
			if e.Node == nodeName && e.Interface == interfaceName {
				return &p.Links[i], e
			}
		}
	}
	return nil, Endpoint{}
}
