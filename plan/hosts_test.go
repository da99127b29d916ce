package plan

import (
	"fmt"
	"strings"
	"testing"

	"nines.dev/nines/spec"
)

// TestNames: a name means every address on a measured link, first those on a link that both have, and
// NODE.mgmt the one on the management network.
func TestNames(t *testing.T) {
	e := &spec.Experiment{Name: "names", Topology: spec.Topology{
		Nodes: map[string]*spec.Node{"a": {}, "b": {}, "c": {}, "alone": {}},
		Links: []*spec.Link{
			{Name: "bc", Endpoints: []string{"b:x", "c:x"}},
			{Name: "ab", Endpoints: []string{"b:y", "a:y"}},
		},
	}}
	e.Topology.Nodes["b"].Addresses = map[string][]string{"x": {"10.0.1.2/24", "fd01::2/64"}, "y": {"10.0.2.2/24"}}
	e.Topology.Nodes["c"].Addresses = map[string][]string{"x": {"10.0.1.3/24"}}
	e.Topology.Nodes["a"].Addresses = map[string][]string{"y": {"10.0.2.1/24"}}
	known := func(p *Plan, node string) string {
		var list []string
		for _, n := range p.NamesFor(node) {
			if !strings.HasPrefix(n.Name, p.Prefix+"-") {
				list = append(list, fmt.Sprint(n.Name, n.Addresses))
			}
		}
		return strings.Join(list, " ")
	}
	p := planManaged(t, e)
	for node, want := range map[string]string{
		"a": "a[10.0.2.1] b[10.0.2.2 10.0.1.2 fd01::2] c[10.0.1.3]",
		"b": "a[10.0.2.1] b[10.0.1.2 fd01::2 10.0.2.2] c[10.0.1.3]",
		"c": "a[10.0.2.1] b[10.0.1.2 fd01::2 10.0.2.2] c[10.0.1.3]",
	} {
		if got := known(p, node); got != want {
			t.Errorf("%s knows %s, want %s", node, got, want)
		}
	}
	e.Management = &spec.Management{Subnet: "10.9.0.0/24"}
	p = planManaged(t, e)
	want := "a[10.0.2.1] a.mgmt[10.9.0.2] alone[10.9.0.3] alone.mgmt[10.9.0.3] b[10.0.2.2 10.0.1.2 fd01::2] b.mgmt[10.9.0.4] c[10.0.1.3] c.mgmt[10.9.0.5]"
	if got := known(p, "a"); got != want {
		t.Errorf("with a management network a knows %s, want %s", got, want)
	}
	hosts := p.HostsFor(p.Nodes[0])
	for _, line := range []string{"\n127.0.0.1 localhost\n", "\n10.0.2.1 " + p.Nodes[0].HostName + "\n", "\n10.0.2.2 b\n10.0.1.2 b\nfd01::2 b\n", "\n10.9.0.4 b.mgmt\n"} {
		if !strings.Contains(hosts, line) {
			t.Errorf("%q is not in\n%s", line, hosts)
		}
	}
	if got, want := p.HostsForHost(), "10.9.0.2 a.names\n10.9.0.3 alone.names\n10.9.0.4 b.names\n10.9.0.5 c.names\n"; got != want {
		t.Errorf("the host's names are %q, want %q", got, want)
	}
}

// inRow is a lab of nodes in a row.
func inRow(t *testing.T, nodes int) *Plan {
	t.Helper()
	e := &spec.Experiment{Name: "chain", Topology: spec.Topology{Nodes: map[string]*spec.Node{}}}
	for i := range nodes {
		e.Topology.Nodes[fmt.Sprintf("n%d", i)] = &spec.Node{}
		if i > 0 {
			e.Topology.Links = append(e.Topology.Links, &spec.Link{Endpoints: []string{fmt.Sprintf("n%d:r", i-1), fmt.Sprintf("n%d:l", i)}})
		}
	}
	return planManaged(t, e)
}

// TestTheCommonHostsFileGrowsAsTheInterfaces: a line for each address of each of a node's two names, in a
// file for all.
func TestTheCommonHostsFileGrowsAsTheInterfaces(t *testing.T) {
	lines := func(nodes int) int {
		p := inRow(t, nodes)
		if own := p.OwnHosts(); len(own) > 0 {
			t.Errorf("of %d nodes %d have a file of their own", nodes, len(own))
		}
		return strings.Count(p.CommonHosts(), "\n")
	}
	if got, want := lines(100), 3+4*99; got != want {
		t.Errorf("100 nodes in a row have %d lines, want %d", got, want)
	}
	if few, many := lines(100), lines(400); many > 5*few {
		t.Errorf("%d lines for 100 nodes, %d for 400", few, many)
	}
}

// TestNodesThatNeedTheirOwnHostsFile: those of an image, and those whose host name would mean nothing, while
// all their files are small.
func TestNodesThatNeedTheirOwnHostsFile(t *testing.T) {
	p := inRow(t, 3)
	p.Nodes[0].Image = &Image{Name: "alpine"}
	p.Nodes[2].Interfaces = nil
	own := p.OwnHosts()
	if !own["n0"] || own["n1"] || !own["n2"] {
		t.Errorf("their own files have %v", own)
	}
	if text := p.HostsFor(p.Nodes[2]); !strings.Contains(text, "\n127.0.1.1 "+p.Nodes[2].HostName+"\n") {
		t.Errorf("a node without an address does not know itself:\n%s", text)
	}
	if text := p.CommonHosts(); strings.Contains(text, "127.0.1.1") || strings.Contains(text, "n2") {
		t.Errorf("others take that node for themselves:\n%s", text)
	}
	many := inRow(t, 600)
	for i := range many.Nodes {
		many.Nodes[i].Image = &Image{Name: "alpine"}
	}
	if own := many.OwnHosts(); len(own) > 0 {
		t.Errorf("%d of 600 nodes of an image have their own", len(own))
	}
}

// TestAHostNameThatIsAnotherNodesName means that node only.
func TestAHostNameThatIsAnotherNodesName(t *testing.T) {
	p := inRow(t, 2)
	p.Nodes[1].Name = p.Nodes[0].HostName
	if n := strings.Count(p.CommonHosts(), " "+p.Nodes[0].HostName+"\n"); n != 1 {
		t.Errorf("%s has %d lines:\n%s", p.Nodes[0].HostName, n, p.CommonHosts())
	}
}
