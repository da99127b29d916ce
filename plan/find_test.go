package plan

import "testing"

// TestPartsAreFoundByTheirNames: what is found is the plan's own, so that a caller may change it.
func TestPartsAreFoundByTheirNames(t *testing.T) {
	e := Endpoint{Node: "b", Interface: "in"}
	p := &Plan{
		Nodes: []Node{{Name: "a"}, {Name: "b", Interfaces: []Interface{{Name: "out"}, {Name: "in"}}}},
		Links: []Link{{Name: "wire", Endpoints: []Endpoint{{Node: "a", Interface: "in"}, e}}},
	}
	if p.Node("b") != &p.Nodes[1] || p.Link("wire") != &p.Links[0] || p.Interface(e) != &p.Nodes[1].Interfaces[1] {
		t.Error("a part that is there is not found")
	}
	if l, end := p.EndOf("b", "in"); l != &p.Links[0] || end != e {
		t.Errorf("the end of b:in is %v of %v", end, l)
	}
	l, _ := p.EndOf("b", "out")
	if p.Node("c") != nil || p.Link("b") != nil || p.Interface(Endpoint{Node: "c", Interface: "in"}) != nil ||
		p.Interface(Endpoint{Node: "a", Interface: "in"}) != nil || l != nil {
		t.Error("a part that is not there is found")
	}
}
