package plan

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/spec"
)

// changed plans a change of a running lab on the microVM.
func changed(t *testing.T, running *Plan, exp *spec.Experiment) *Plan {
	t.Helper()
	p, err := Change(running, exp, loadHost(t, "microvm"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// unexplained is a plan without the reasons for its choices.
func unexplained(p *Plan) *Plan {
	out := *p
	out.Nodes, out.Links, out.Notes = slices.Clone(p.Nodes), slices.Clone(p.Links), nil
	for i := range out.Nodes {
		out.Nodes[i].Why = nil
	}
	for i, l := range out.Links {
		if l.Switch != nil {
			program := *l.Switch
			program.Why = nil
			out.Links[i].Switch = &program
		}
	}
	return &out
}

// bridged is a lab of nodes on one bridge, and of links without names between pairs of them.
func bridged(nodes string, pairs ...string) *spec.Experiment {
	exp := &spec.Experiment{Name: "kept", Topology: spec.Topology{Nodes: map[string]*spec.Node{}}}
	lan := &spec.Link{Name: "lan", Kind: spec.LinkBridge}
	for _, name := range strings.Split(nodes, "") {
		exp.Topology.Nodes[name] = &spec.Node{}
		lan.Endpoints = append(lan.Endpoints, name+":lan")
	}
	for _, pair := range pairs {
		x, y := pair[:1], pair[1:2]
		exp.Topology.Links = append(exp.Topology.Links, &spec.Link{Endpoints: []string{x + ":" + pair, y + ":" + pair}})
	}
	exp.Topology.Links = append(exp.Topology.Links, lan)
	return exp
}

// TestNothingChangesWithoutAChange: the plan of a running lab's own file is that lab, whatever the lab and the host are.
func TestNothingChangesWithoutAChange(t *testing.T) {
	same := 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 43))
		inv := randomHost(r)
		exp := randomExperiment(r, inv)
		p, err := Make(exp, inv)
		if err != nil {
			continue
		}
		again, err := Change(p, exp, inv)
		if err != nil || !Same(unexplained(p), unexplained(again)) {
			t.Fatalf("seed %d: %v: the plan of a lab that runs\n%+v\nbecomes\n%+v", seed, err, unexplained(p), unexplained(again))
		}
		same++
	}
	if same < 100 {
		t.Errorf("only %d of the labs can be planned", same)
	}
}

// TestWhatStaysKeepsItsNumbers: after any change of the file, the others have the addresses, the MAC addresses and the CPUs
// that they had; a subnet may have grown around them.
func TestWhatStaysKeepsItsNumbers(t *testing.T) {
	compared := 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 44))
		inv := loadHost(t, "epyc-7551p")
		running, err := Make(randomBridges(r, nil), inv)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for range 4 {
			next, err := Change(running, randomBridges(r, running), inv)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			compared += compareKept(t, fmt.Sprint("seed ", seed), running, next)
			running = next
		}
	}
	if compared < 4000 {
		t.Errorf("only %d interfaces stayed", compared)
	}
}

// randomBridges is a lab of up to 8 nodes, some with CPUs of their own, on up to 4 bridges, in a random order. A node
// that runs has the demands that it has.
func randomBridges(r *rand.Rand, running *Plan) *spec.Experiment {
	exp := &spec.Experiment{Name: "kept", Topology: spec.Topology{Nodes: map[string]*spec.Node{}}}
	letters := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	r.Shuffle(len(letters), func(i, j int) { letters[i], letters[j] = letters[j], letters[i] })
	letters = letters[:2+r.IntN(6)]
	for _, name := range letters {
		exp.Topology.Nodes[name] = &spec.Node{CPUs: r.IntN(3)}
		if running != nil && running.Node(name) != nil {
			exp.Topology.Nodes[name].CPUs = 0
			if had := running.Node(name); had.CPUsExclusive {
				exp.Topology.Nodes[name].CPUs = len(had.CPUs)
			}
		}
	}
	for _, name := range []string{"w", "x", "y", "z"}[:1+r.IntN(4)] {
		r.Shuffle(len(letters), func(i, j int) { letters[i], letters[j] = letters[j], letters[i] })
		l := &spec.Link{Name: name, Kind: spec.LinkBridge}
		for _, node := range letters[:2+r.IntN(len(letters)-1)] {
			l.Endpoints = append(l.Endpoints, node+":"+name)
		}
		exp.Topology.Links = append(exp.Topology.Links, l)
	}
	return exp
}

// compareKept compares the interfaces and nodes that two plans have, and counts the interfaces.
func compareKept(t *testing.T, place string, old, now *Plan) (compared int) {
	t.Helper()
	for _, n := range now.Nodes {
		had := old.Node(n.Name)
		if had == nil {
			continue
		}
		if had.CPUsExclusive != n.CPUsExclusive || n.CPUsExclusive && !slices.Equal(had.CPUs, n.CPUs) {
			t.Fatalf("%s: node %s had CPUs %v and gets %v", place, n.Name, had.CPUs, n.CPUs)
		}
		for _, i := range n.Interfaces {
			before := old.Interface(Endpoint{Node: n.Name, Interface: i.Name})
			if before == nil {
				continue
			}
			compared++
			was, is := netip.MustParsePrefix(before.Addresses[0]), netip.MustParsePrefix(i.Addresses[0])
			if before.MAC != i.MAC || was.Addr() != is.Addr() || is.Bits() > was.Bits() {
				t.Fatalf("%s: %s:%s had %s, %v and gets %s, %v", place, n.Name, i.Name, before.MAC, was, i.MAC, is)
			}
		}
	}
	return compared
}

// TestABridgeGrows: its nodes keep their addresses. The subnet around theirs is taken, since they have to reach the new
// ones.
func TestABridgeGrows(t *testing.T) {
	running := planned(t, bridged("ab"))
	grown := changed(t, running, bridged("cabd"))
	compareKept(t, "grown", running, grown)
	var subnets []netip.Prefix
	for _, n := range grown.Nodes {
		subnets = append(subnets, netip.MustParsePrefix(n.Interfaces[0].Addresses[0]).Masked())
	}
	if len(slices.Compact(subnets)) != 1 {
		t.Errorf("the nodes of one bridge are in %v", subnets)
	}
	if smaller := changed(t, grown, bridged("ab")); !slices.Equal(smaller.Nodes[0].Interfaces[0].Addresses, grown.Nodes[0].Interfaces[0].Addresses) {
		t.Errorf("without them a has %v", smaller.Nodes[0].Interfaces[0].Addresses)
	}
}

// TestLinksWithoutNamesAreKnownByTheirEndpoints: they keep their names, and what derives from these, when those before
// them go, or others come.
func TestLinksWithoutNamesAreKnownByTheirEndpoints(t *testing.T) {
	running := planned(t, bridged("abc", "ab", "bc", "ca"))
	for what, c := range map[string]struct {
		pairs []string
		want  map[string]string // the link of a:x and so on
	}{
		"the first is gone":    {[]string{"bc", "ca"}, map[string]string{"b:bc": "link2", "c:ca": "link3"}},
		"another order":        {[]string{"ca", "ab", "bc"}, map[string]string{"a:ab": "link1", "b:bc": "link2", "c:ca": "link3"}},
		"one before":           {[]string{"ba", "ab", "bc", "ca"}, map[string]string{"a:ab": "link1", "b:bc": "link2", "c:ca": "link3", "b:ba": "link4"}},
		"one for another":      {[]string{"ba", "bc", "ca"}, map[string]string{"b:ba": "link1", "b:bc": "link2"}},
		"one behind, one less": {[]string{"bc", "ca", "ba"}, map[string]string{"b:bc": "link2", "c:ca": "link3", "b:ba": "link4"}},
	} {
		next := changed(t, running, bridged("abc", c.pairs...))
		for endpoint, want := range c.want {
			nodeName, interfaceName, _ := strings.Cut(endpoint, ":")
			if l, _ := next.EndOf(nodeName, interfaceName); l.Name != want {
				t.Errorf("%s: %s is on %s, want %s", what, endpoint, l.Name, want)
			}
		}
		compareKept(t, what, running, next)
	}
}

// TestEventsFollowTheNamesOfLinks: an event names a link as the file does.
func TestEventsFollowTheNamesOfLinks(t *testing.T) {
	running := planned(t, bridged("abc", "ab", "bc"))
	exp := bridged("abc", "bc")
	exp.Events = []*spec.Event{{Link: "link1"}}
	if next := changed(t, running, exp); next.Events[0].Link != "link2" {
		t.Errorf("the link of b and c is %q", next.Events[0].Link)
	}
}

// TestReorderingChangesNothing: of nodes' endpoints on links, and of links.
func TestReorderingChangesNothing(t *testing.T) {
	exp := bridged("abcd", "ab", "bc", "ca")
	running := planned(t, exp)
	for _, l := range exp.Topology.Links {
		slices.Reverse(l.Endpoints)
	}
	slices.Reverse(exp.Topology.Links)
	if next := changed(t, running, exp); !Same(unexplained(running), unexplained(next)) {
		t.Errorf("%+v\nbecomes\n%+v", running, next)
	}
}

// TestManagementAddressesAndPowerPortsStay: also those of pos, which are numbers.
func TestManagementAddressesAndPowerPortsStay(t *testing.T) {
	with := func(nodes string, by spec.ManagementMAC) *spec.Experiment {
		exp := bridged(nodes)
		exp.Management = &spec.Management{Mode: spec.ManagementPrivate, MAC: by}
		exp.Power = &spec.Power{Address: "127.0.0.1", FirstPort: 6230, Protocols: []spec.PowerProtocol{spec.PowerIPMI}}
		return exp
	}
	for _, by := range []spec.ManagementMAC{spec.ManagementMACPlan, spec.ManagementMACPos} {
		running := planned(t, with("bcd", by))
		for _, nodes := range []string{"abcd", "cd", "acd"} {
			next := changed(t, running, with(nodes, by))
			addresses, ports := map[string]bool{}, map[int]bool{}
			for i, n := range next.Nodes {
				address, port := next.ManagementAddress(n), next.Power.Nodes[i].Port
				if addresses[address] || ports[port] {
					t.Errorf("%s: %s has %s and %d, as another node has", nodes, n.Name, address, port)
				}
				addresses[address], ports[port] = true, true
				had := running.Node(n.Name)
				if had == nil {
					continue
				}
				at := slices.IndexFunc(running.Power.Nodes, func(p PowerNode) bool { return p.Name == n.Name })
				if last, was := n.Interfaces[len(n.Interfaces)-1], had.Interfaces[len(had.Interfaces)-1]; !Same(last, was) || port != running.Power.Nodes[at].Port {
					t.Errorf("%s: %s had %+v and port %d, and gets %+v and %d", nodes, n.Name, was, running.Power.Nodes[at].Port, last, port)
				}
			}
		}
	}
}

// TestCPUsOfNewNodesMoveOthersOnlyIfTheyMust: a node keeps its CPU, though others would be better, but not where a new
// one has no other place.
func TestCPUsOfNewNodesMoveOthersOnlyIfTheyMust(t *testing.T) {
	cpus := func(from *Plan, nodes map[string]*spec.Node) *Plan {
		p, err := Change(from, &spec.Experiment{Name: "kept", Topology: spec.Topology{Nodes: nodes}}, smallHost(4, 1))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	running := cpus(nil, map[string]*spec.Node{"b": {CPUs: 1}, "c": {CPUs: 1}, "shares": {}})
	more := cpus(running, map[string]*spec.Node{"a": {CPUs: 1}, "b": {CPUs: 1}, "c": {CPUs: 1}, "shares": {}})
	for _, name := range []string{"b", "c"} {
		if was, is := running.Node(name).CPUs, more.Node(name).CPUs; !slices.Equal(was, is) {
			t.Errorf("%s had %v and gets %v", name, was, is)
		}
	}
	if !slices.Equal(more.Node("shares").CPUs, more.HousekeepingCPUs) {
		t.Errorf("the node without CPUs of its own has %v of %v", more.Node("shares").CPUs, more.HousekeepingCPUs)
	}
	named := cpus(more, map[string]*spec.Node{"a": {CPUList: cpulist.Format(more.Node("b").CPUs)}, "b": {CPUs: 1}, "c": {CPUs: 1}})
	if !slices.Equal(named.Node("c").CPUs, more.Node("c").CPUs) || slices.Equal(named.Node("b").CPUs, more.Node("b").CPUs) {
		t.Errorf("a takes the CPU of b: b has %v, c %v", named.Node("b").CPUs, named.Node("c").CPUs)
	}
}

// TestVirtualFunctionsStay: with their VLAN, when a link before theirs goes.
func TestVirtualFunctionsStay(t *testing.T) {
	inv := twoPorts()
	pair := func(names ...string) *spec.Experiment {
		exp := &spec.Experiment{Name: "vfs", Topology: spec.Topology{Nodes: map[string]*spec.Node{"a": {}, "b": {}}}}
		for _, name := range names {
			exp.Topology.Links = append(exp.Topology.Links, &spec.Link{Name: name, Kind: spec.LinkSRIOV, Endpoints: []string{"a:" + name, "b:" + name}})
		}
		return exp
	}
	running, err := Make(pair("x", "y", "z"), inv)
	if err != nil {
		t.Fatal(err)
	}
	next, err := Change(running, pair("w", "z", "y"), inv)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"y", "z"} {
		if !Same(running.Link(name), next.Link(name)) {
			t.Errorf("%+v\nbecomes\n%+v", running.Link(name), next.Link(name))
		}
	}
}
