package plan

// Index finds parts of a plan by name without going through the plan: what looks up something for each node or link
// uses one. It shows the plan as it was when it was made.
type Index struct {
	nodes      map[string]*Node
	links      map[string]*Link
	interfaces map[string]*Interface
	ends       map[string]end
}

// end is the end of a link.
type end struct {
	link     *Link
	endpoint Endpoint
}

// Index makes an index.
func (p *Plan) Index() *Index {
	x := &Index{map[string]*Node{}, map[string]*Link{}, map[string]*Interface{}, map[string]end{}}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		x.nodes[n.Name] = n
		for j := range n.Interfaces {
			x.interfaces[endName(n.Name, n.Interfaces[j].Name)] = &n.Interfaces[j]
		}
	}
	for i := range p.Links {
		x.links[p.Links[i].Name] = &p.Links[i]
		for _, e := range p.Links[i].Endpoints {
			x.ends[e.Name()] = end{&p.Links[i], e}
		}
	}
	return x
}

// Node is the node with a name; nil if there is none.
func (x *Index) Node(name string) *Node { return x.nodes[name] }

// Link is the link with a name; nil if there is none.
func (x *Index) Link(name string) *Link { return x.links[name] }

// Interface is the interface that an endpoint names; nil if there is none.
func (x *Index) Interface(e Endpoint) *Interface { return x.interfaces[e.Name()] }

// EndOf is the link that an interface is on, and its end there; nil if it is on none.
func (x *Index) EndOf(nodeName, interfaceName string) (*Link, Endpoint) {
	e := x.ends[endName(nodeName, interfaceName)]
	return e.link, e.endpoint
}
