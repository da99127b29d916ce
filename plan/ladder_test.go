package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/spec"
)

// smallHost has that many cores with that many threads each, numbered as Linux numbers them: the
// first threads of all cores first.
func smallHost(cores, threads int) *host.Inventory {
	inv := &host.Inventory{NUMANodes: []host.NUMANode{{MemoryTotalBytes: 1 << 30, Distances: []int{10}}}}
	for id := range cores * threads {
		cpu := host.CPU{ID: id, Online: true, Core: id % cores}
		for sibling := id % cores; sibling < cores*threads; sibling += cores {
			cpu.Siblings = append(cpu.Siblings, sibling)
		}
		inv.CPUs = append(inv.CPUs, cpu)
		inv.AllowedCPUs = append(inv.AllowedCPUs, id)
	}
	return inv
}

// pair is a sender and a receiver in two nodes.
func pair(wait spec.Wait) *spec.Experiment {
	return &spec.Experiment{
		Name: "pair",
		Topology: spec.Topology{
			Nodes: map[string]*spec.Node{"a": {}, "b": {}},
			Links: []*spec.Link{{Name: "ab", Endpoints: []string{"a:x", "b:x"}}},
		},
		Traffic: whole(spec.Traffic{From: "a:x", To: "b:x", RatePPS: 1, Wait: wait}),
	}
}

// through is a sender and a receiver with a forwarder between them.
func through() *spec.Experiment {
	exp := pair(spec.WaitBlock)
	exp.Topology.Nodes["hop"] = &spec.Node{App: &spec.App{Kind: spec.AppForward}}
	exp.Topology.Links = []*spec.Link{{Endpoints: []string{"a:x", "hop:in"}}, {Endpoints: []string{"hop:out", "b:x"}}}
	return exp
}

// chain is a generator with that many forwarders between its two interfaces.
func chain(hops int, wait spec.Wait) *spec.Experiment {
	exp := &spec.Experiment{Name: "chain", Topology: spec.Topology{Nodes: map[string]*spec.Node{"gen": {}}}}
	previous := "gen:tx"
	for i := range hops {
		name := fmt.Sprintf("hop%d", i+1)
		exp.Topology.Nodes[name] = &spec.Node{App: &spec.App{Kind: spec.AppForward}}
		exp.Topology.Links = append(exp.Topology.Links, &spec.Link{Endpoints: []string{previous, name + ":in"}})
		previous = name + ":out"
	}
	exp.Topology.Links = append(exp.Topology.Links, &spec.Link{Endpoints: []string{previous, "gen:rx"}})
	exp.Traffic = whole(spec.Traffic{From: "gen:tx", To: "gen:rx", RatePPS: 1, Wait: wait})
	return exp
}

// TestLadder: what is given up first when CPUs are few. Each case lists the housekeeping CPUs and
// each node's, with its engine's CPU, and what a note says.
func TestLadder(t *testing.T) {
	for _, c := range []struct {
		name string
		exp  *spec.Experiment
		inv  *host.Inventory
		want string
		note string
	}{
		{"room for all", pair(spec.WaitBlock), smallHost(3, 1), "keep 0; a own 1 on 1; b own 2 on 2", ""},
		{"siblings stay idle beside pollers", pair(spec.WaitSpin), smallHost(3, 2), "keep 0,3; a own 1 on 1; b own 2 on 2", ""},
		{"nodes share a core", pair(spec.WaitBlock), smallHost(2, 2), "keep 0,2; a own 1 on 1; b own 3 on 3", "a and b share a physical core (CPUs 1,3) and slow each other down"},
		{"pollers share a core", pair(spec.WaitSpin), smallHost(2, 2), "keep 0,2; a own 1 on 1; b own 3 on 3", "the more as one polls"},
		{"housekeeping gives its second thread", chain(2, spec.WaitBlock), smallHost(2, 2), "keep 0; gen own 1 on 1; hop1 own 2 on 2; hop2 own 3 on 3", "housekeeping and hop1 share a physical core (CPUs 0,2)"},
		{"the generator leaves the sink a CPU", pair(spec.WaitBlock), smallHost(2, 1), "keep 0; a shares 0 on 0; b own 1 on 1", "a runs on the housekeeping CPU 0"},
		{"generator and sink on one CPU", through(), smallHost(2, 1), "keep 0; a shares 0 on 0; b shares 0 on 0; hop own 1 on 1", "a and b run on the housekeeping CPU 0"},
		{"the same if they poll", pair(spec.WaitSpin), smallHost(2, 1), "keep 0; a shares 0 on 0; b own 1 on 1", "a runs on the housekeeping CPU 0"},
		{"the generator beside the host", chain(1, spec.WaitSpin), smallHost(2, 1), "keep 0; gen shares 0 on 0; hop1 own 1 on 1", "gen runs on the housekeeping CPU 0"},
		{"engines share what is left", chain(3, spec.WaitBlock), smallHost(3, 1), "keep 0; gen shares 0 on 0; hop1 shares 1-2 on 1; hop2 shares 1-2 on 2; hop3 shares 1-2 on 1", "hop1, hop2 and hop3 share CPUs"},
		{"one CPU for everything", chain(1, spec.WaitBlock), smallHost(1, 1), "keep 0; gen shares 0 on 0; hop1 shares 0 on 0", "gen runs on the housekeeping CPU 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Make(c.exp, c.inv)
			if err != nil {
				t.Fatal(err)
			}
			if got := summary(p); got != c.want {
				t.Errorf("planned %q, want %q", got, c.want)
			}
			notes := strings.Join(p.Notes, " ")
			if !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
				t.Errorf("the notes are %q, want %q among them", notes, c.note)
			}
		})
	}
}

// summary is who has which CPUs, in a line.
func summary(p *Plan) string {
	parts := []string{"keep " + cpulist.Format(p.HousekeepingCPUs)}
	for _, n := range p.Nodes {
		parts = append(parts, fmt.Sprintf("%s %s %s on %s", n.Name, choose(n.CPUsExclusive, "own", "shares"), cpulist.Format(n.CPUs), p.engineText(n)))
	}
	return strings.Join(parts, "; ")
}

// TestListsNameAll: where the user names every CPU, housekeeping shares the first CPU with its
// node, and the plan says so.
func TestListsNameAll(t *testing.T) {
	exp := pair(spec.WaitBlock)
	exp.Topology.Nodes["a"].CPUList, exp.Topology.Nodes["b"].CPUList = "0", "1"
	p, err := Make(exp, smallHost(2, 1))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := summary(p), "keep 0; a shares 0 on 0; b own 1 on 1"; got != want {
		t.Errorf("planned %q, want %q", got, want)
	}
	if want := []string{"The nodes' cpu_lists name every CPU, so the host's own work runs on CPU 0, beside node a."}; !slices.Equal(p.Notes, want) {
		t.Errorf("the notes are %q, want %q", p.Notes, want)
	}
}

// TestIsolatedFirst: engines get the CPUs that the host isolates, and the host the
// others.
func TestIsolatedFirst(t *testing.T) {
	inv := smallHost(6, 1)
	for _, id := range []int{0, 3, 5} {
		inv.CPUs[id].Isolated = true
	}
	p, err := Make(pair(spec.WaitSpin), inv)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := summary(p), "keep 1; a own 0 on 0; b own 3 on 3"; got != want {
		t.Errorf("planned %q, want %q", got, want)
	}
}

// TestEngineNotOnFirst: of several CPUs the first is for the node's other work, and
// the engine has a core that no other node uses.
func TestEngineNotOnFirst(t *testing.T) {
	exp := chain(1, spec.WaitSpin)
	exp.Topology.Nodes["hop1"].CPUs = 3
	p, err := Make(exp, smallHost(4, 2)) // not enough for a core per poller
	if err != nil {
		t.Fatal(err)
	}
	if got, want := summary(p), "keep 0,4; gen own 1 on 1; hop1 own 2-3,6 on 3"; got != want {
		t.Errorf("planned %q, want %q", got, want)
	}
}

// TestDynamicRoutersGetNoRoutes: a host route to an end would go before those of a routing protocol.
func TestDynamicRoutersGetNoRoutes(t *testing.T) {
	for _, dynamic := range []bool{false, true} {
		exp := pair(spec.WaitBlock)
		exp.Topology.Nodes["r"] = &spec.Node{App: &spec.App{Kind: spec.AppRoute, Dynamic: dynamic}}
		exp.Topology.Nodes["s"] = &spec.Node{App: &spec.App{Kind: spec.AppRoute, Dynamic: dynamic}}
		exp.Topology.Links = []*spec.Link{{Endpoints: []string{"a:x", "r:left"}}, {Endpoints: []string{"r:right", "s:left"}}, {Endpoints: []string{"s:right", "b:x"}}}
		p, err := Make(exp, smallHost(4, 1))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range p.Nodes {
			if router := n.App != nil; len(n.Routes) == 0 != (router && dynamic) {
				t.Errorf("dynamic %v: the routes of %s are %v", dynamic, n.Name, n.Routes)
			}
		}
	}
}

// TestRoutedPair: kernel routers between two nodes get forwarding, both ends a
// route to the other, and packets go to the router's MAC with the far IP.
func TestRoutedPair(t *testing.T) {
	exp := pair(spec.WaitBlock)
	exp.Topology.Nodes["r"] = &spec.Node{App: &spec.App{Kind: spec.AppRoute}}
	exp.Topology.Links = []*spec.Link{{Endpoints: []string{"a:x", "r:left"}}, {Endpoints: []string{"r:right", "b:x"}}}
	p, err := Make(exp, smallHost(4, 1))
	if err != nil {
		t.Fatal(err)
	}
	a, b, r := p.Nodes[0], p.Nodes[1], p.Nodes[2]
	from := p.Traffic.From
	if from.PeerIP != strings.Split(b.Interfaces[0].Addresses[0], "/")[0] || from.PeerMAC != r.Interfaces[0].MAC {
		t.Errorf("a sends to %s by %s; want b's address by the router's MAC", from.PeerIP, from.PeerMAC)
	}
	router := func(i int) string { return strings.Split(r.Interfaces[i].Addresses[0], "/")[0] }
	if want := []spec.Route{{To: from.PeerIP + "/32", Via: router(0), Interface: "x"}}; !slices.Equal(a.Routes, want) {
		t.Errorf("a's routes are %v, want %v", a.Routes, want)
	}
	if want := []spec.Route{{To: from.LocalIP + "/32", Via: router(1), Interface: "x"}}; !slices.Equal(b.Routes, want) {
		t.Errorf("b's routes are %v, want %v", b.Routes, want)
	}
	if r.Sysctls["net.ipv4.ip_forward"] != "1" || r.App.CPU != -1 || len(r.Routes) != 0 {
		t.Errorf("the router is %+v", r)
	}
	if a.Sysctls["net.ipv4.conf.all.accept_local"] != "" {
		t.Error("a accepts its own addresses from outside, though only one end is there")
	}
}

// TestANodeTakesItsOwnPacketsFromALink: the kernel drops packets from outside that have one of its
// own addresses as source, unless a sysctl allows them.
func TestANodeTakesItsOwnPacketsFromALink(t *testing.T) {
	exp := two()
	delete(exp.Topology.Nodes, "dut")
	exp.Topology.Links = []*spec.Link{{Endpoints: []string{"gen:tx", "gen:rx"}}}
	p, err := Make(exp, smallHost(4, 1))
	if err != nil {
		t.Fatal(err)
	}
	if set := p.Nodes[0].Sysctls; set["net.ipv4.conf.all.accept_local"] != "1" || set["net/ipv4/conf/rx/rp_filter"] != "0" {
		t.Errorf("gen has the settings %v", set)
	}
}

// TestNeeds: a missing kernel feature is reported with who needs it.
func TestNeeds(t *testing.T) {
	exp := two()
	exp.Topology.Nodes["dut"].Runtime, exp.Topology.Nodes["dut"].Memory, exp.Topology.Nodes["dut"].CPUs = spec.RuntimeLXC, 1<<30, 1
	exp.Topology.Links[0].Kind = spec.LinkXDP
	exp.Traffic.Backend = spec.BackendXDP
	got := Needs(exp)
	want := host.Needs{
		Root: true,
		Features: []host.Need{
			{Name: host.FeatureNetns, For: "node dut"}, {Name: host.FeatureLXC, For: "node dut"}, {Name: host.FeatureNetns, For: "node gen"},
			{Name: host.FeatureVeth, For: "link in"}, {Name: host.FeatureXDPVeth, For: "link in"},
			{Name: host.FeatureVeth, For: "link out"}, {Name: host.FeatureBridge, For: "link out"},
			{Name: host.FeatureAFXDP, For: "traffic"},
		},
		Controllers: []host.Need{{Name: "memory", For: "node dut"}, {Name: "cpuset", For: "node dut"}},
	}
	if toJSON(t, got) != toJSON(t, want) {
		t.Errorf("the needs are\n%s\nwant\n%s", toJSON(t, got), toJSON(t, want))
	}
}

// A stream's warm-up, drain and outliers may be 0, which is a value like any other.
func TestNothingIsAValue(t *testing.T) {
	exp := pair(spec.WaitBlock)
	exp.Traffic.Duration = spec.Duration(1e9)
	p, err := Make(exp, smallHost(2, 1))
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Traffic.Stream; s.Warmup != 0 || s.Drain != 0 || s.Outliers != 0 {
		t.Errorf("the planned stream warms up for %v, drains for %v and keeps %d outliers, want none", s.Warmup, s.Drain, s.Outliers)
	}
}
