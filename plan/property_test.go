package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/spec"
)

// randomHost has 1 to 4 NUMA nodes, with or without SMT, and some CPUs offline,
// isolated or not allowed.
func randomHost(r *rand.Rand) *host.Inventory {
	inv := &host.Inventory{Schema: host.Schema, NICs: []host.NIC{}}
	numas, cores, threads := 1+r.IntN(4), 1+r.IntN(6), 1+r.IntN(2)
	for u := range numas {
		node := host.NUMANode{ID: u, MemoryTotalBytes: int64(r.IntN(3)) << 30}
		for v := range numas {
			node.Distances = append(node.Distances, 10+6*min(1, (u-v)*(u-v)))
		}
		inv.NUMANodes = append(inv.NUMANodes, node)
	}
	if r.IntN(8) > 0 {
		inv.Hugepages = []host.Hugepages{{SizeBytes: 1 << 30}, {SizeBytes: 2 << 20, Total: 100, Free: int64(r.IntN(100))}}
	}
	if r.IntN(2) == 0 {
		inv.Features = []host.Feature{{Name: host.FeatureOpenvSwitch, State: host.StateModule}}
	}
	total := numas * cores
	for id := range total * threads {
		cpu := host.CPU{ID: id, Online: id == 0 || r.IntN(8) > 0, Package: -1, Core: -1, NUMANode: -1}
		if cpu.Online {
			core := id % total
			cpu.Core, cpu.NUMANode, cpu.Isolated = core, core/cores, r.IntN(6) == 0
			for sibling := core; sibling < total*threads; sibling += total {
				cpu.Siblings = append(cpu.Siblings, sibling)
			}
			if id == 0 || r.IntN(10) > 0 {
				inv.AllowedCPUs = append(inv.AllowedCPUs, id)
			}
			inv.NUMANodes[cpu.NUMANode].CPUs = append(inv.NUMANodes[cpu.NUMANode].CPUs, id)
		}
		inv.CPUs = append(inv.CPUs, cpu)
	}
	for i := range r.IntN(3) {
		inv.NICs = append(inv.NICs, host.NIC{Name: fmt.Sprintf("nic%d", i), NUMANode: r.IntN(numas+1) - 1, MTU: 1500})
	}
	return inv
}

// randomExperiment is a chain of nodes that may forward, with other nodes attached, and demands
// that are sometimes too large.
func randomExperiment(r *rand.Rand, inv *host.Inventory) *spec.Experiment {
	exp := &spec.Experiment{Name: fmt.Sprintf("lab%d", r.IntN(100)), Topology: spec.Topology{Nodes: map[string]*spec.Node{}}}
	kinds := []spec.LinkKind{spec.LinkVeth, spec.LinkBridge, spec.LinkXDP, spec.LinkMacvlan, spec.LinkSwitch, spec.LinkOVS,
		spec.LinkOVSDPDK, spec.LinkVPP, spec.LinkSnabb, spec.LinkTestpmd, spec.LinkMemif}
	link := func(endpoints ...string) {
		l := &spec.Link{Kind: kinds[r.IntN(len(kinds))], Endpoints: endpoints}
		if len(endpoints) > 2 && l.Kind.Descriptor().Pair {
			l.Kind = spec.LinkBridge
		}
		if l.Kind.Descriptor().Program != nil && r.IntN(3) == 0 {
			l.Switch = &spec.Switch{CPUs: r.IntN(4)}
			if r.IntN(6) == 0 {
				l.Switch = &spec.Switch{CPUList: fmt.Sprint(r.IntN(len(inv.CPUs)))}
			}
		}
		if l.Kind == spec.LinkMacvlan && len(inv.NICs) > 0 && r.IntN(2) == 0 {
			l.Parent = inv.NICs[r.IntN(len(inv.NICs))].Name
		}
		exp.Topology.Links = append(exp.Topology.Links, l)
	}
	length := r.IntN(4)
	exp.Topology.Nodes["gen"] = &spec.Node{}
	previous := "gen:tx"
	for i := range length {
		name := fmt.Sprintf("hop%d", i)
		n := &spec.Node{App: &spec.App{Kind: []spec.AppKind{spec.AppForward, spec.AppRoute}[r.IntN(2)]}}
		if r.IntN(3) == 0 && n.App.Kind == spec.AppForward {
			n.App.Wait = spec.WaitSpin
		}
		exp.Topology.Nodes[name] = n
		link(previous, name+":in")
		previous = name + ":out"
	}
	to := "gen:rx"
	if length == 0 || r.IntN(2) == 0 {
		exp.Topology.Nodes["sink"] = &spec.Node{}
		to = "sink:rx"
	}
	last := []string{previous, to}
	for i := range r.IntN(5) {
		name := fmt.Sprintf("idle_%d", i)
		exp.Topology.Nodes[name] = &spec.Node{}
		last = append(last, name+":eth0")
	}
	link(last...)
	exp.Traffic = whole(spec.Traffic{From: "gen:tx", To: to, RatePPS: 1000, Flows: 1 + r.IntN(50)})
	if r.IntN(2) == 0 {
		exp.Traffic.FlowField = spec.FlowSourceAddress
	}
	if r.IntN(2) == 0 {
		exp.Traffic.Wait = spec.WaitSpin
	}
	if r.IntN(2) == 0 {
		exp.Traffic.Backend, exp.Traffic.Wait = spec.BackendDPDK, ""
	}
	if r.IntN(3) == 0 {
		exp.DPDK = &spec.DPDK{Memory: spec.Size(1+r.IntN(100)) << 20,
			Hugepages: []spec.Hugepages{"", spec.HugepagesNone, spec.HugepagesReserve}[r.IntN(3)]}
	}
	for _, n := range exp.Topology.Nodes {
		switch r.IntN(8) {
		case 0, 1:
			n.CPUs = 1 + r.IntN(4)
		case 2:
			n.CPUList = fmt.Sprint(r.IntN(len(inv.CPUs)))
		case 3:
			u := r.IntN(len(inv.NUMANodes))
			n.MemoryNode, n.CPUs = &u, r.IntN(3)
		}
	}
	randomReceive(r, exp, inv)
	return exp
}

// TestProperties: every plan for every host keeps the rules, and what cannot be planned is refused
// with a reason.
func TestProperties(t *testing.T) {
	planned, withDPDK, impossible, conflicts := 0, 0, 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		inv := randomHost(r)
		exp := randomExperiment(r, inv)
		before := toJSON(t, exp) + toJSON(t, inv)
		p, err := Make(exp, inv)
		if after := toJSON(t, exp) + toJSON(t, inv); before != after {
			t.Fatalf("seed %d: Make changed its input", seed)
		}
		var no *Impossible
		var conflict *Conflict
		switch {
		case errors.As(err, &no):
			impossible++
			if no.Demand == "" || no.Reason == "" || no.Remedy == "" || no.ExitCode() != exit.Lacks {
				t.Errorf("seed %d: %#v says too little", seed, no)
			}
			if fitsByCount(exp, inv) {
				t.Errorf("seed %d: there are enough CPUs, and yet: %v", seed, no)
			}
			continue
		case errors.As(err, &conflict):
			conflicts++
			continue
		case err != nil:
			t.Fatalf("seed %d: %v", seed, err)
		}
		planned++
		withDPDK += boolToInt(p.Hugepages != nil)
		for _, broken := range violations(exp, inv, p) {
			t.Errorf("seed %d: %s", seed, broken)
		}
		again, err := Make(shuffled(t, exp), inv)
		if err != nil || toJSON(t, again) != toJSON(t, p) {
			t.Errorf("seed %d: the same experiment gives another plan, %v", seed, err)
		}
		if t.Failed() {
			t.Fatalf("the experiment: %s\nthe plan: %s", toJSON(t, exp), toJSON(t, p))
		}
	}
	t.Logf("%d planned, %d of them with DPDK, %d impossible, %d in conflict", planned, withDPDK, impossible, conflicts)
	if planned < 1000 || withDPDK < 300 || impossible < 100 {
		t.Errorf("the random experiments test little: %d planned, %d impossible", planned, impossible)
	}
}

// fitsByCount reports whether there are enough CPUs by number: then only a place that the user
// names can prevent a plan.
func fitsByCount(exp *spec.Experiment, inv *host.Inventory) bool {
	wanted := 1 // housekeeping
	if len(inv.Hugepages) == 0 {
		return false // may be what is missing
	}
	for _, l := range exp.Topology.Links {
		if l.Switch != nil && l.Switch.CPUList != "" {
			return false
		}
		if l.Switch != nil && l.Switch.CPUs > 1 {
			wanted += l.Switch.CPUs
		}
	}
	for _, l := range exp.Topology.Links {
		for _, e := range l.Endpoints {
			// A poller that shares a CPU with an engine that never sleeps is refused, however many
			// CPUs there are.
			at, iface, _ := strings.Cut(e, ":")
			if exp.ReceiveOf(l, at, iface) == spec.ReceiveBusyPoll && exp.Topology.Nodes[at].Polling.OwnCPUs() == 0 {
				return false
			}
		}
	}
	for _, n := range exp.Topology.Nodes {
		if n.CPUList != "" || n.MemoryNode != nil || n.Polling != nil && n.Polling.CPUList != "" {
			return false
		}
		wanted += n.CPUs + n.Polling.OwnCPUs()
	}
	return wanted <= len(inv.AllowedCPUs)
}

func toJSON(t testing.TB, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// shuffled is the same experiment with its nodes put into the map in another order.
func shuffled(t *testing.T, exp *spec.Experiment) *spec.Experiment {
	t.Helper()
	other := *exp
	other.Topology.Nodes = map[string]*spec.Node{}
	names := slices.Sorted(maps.Keys(exp.Topology.Nodes))
	slices.Reverse(names)
	for _, name := range names {
		other.Topology.Nodes[name] = exp.Topology.Nodes[name]
	}
	return &other
}

// violations lists the broken rules of a plan.
func violations(exp *spec.Experiment, inv *host.Inventory, p *Plan) []string {
	var list []string
	fail := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	usable := func(id int) bool {
		cpu, err := inv.CPU(id)
		return err == nil && cpu.Online && slices.Contains(inv.AllowedCPUs, id)
	}
	if len(p.HousekeepingCPUs) == 0 {
		fail("no housekeeping CPU")
	}
	owner := map[int]string{}
	for _, id := range p.HousekeepingCPUs {
		owner[id] = "housekeeping"
		if !usable(id) {
			fail("housekeeping on CPU %d, which is not usable", id)
		}
	}
	for _, n := range p.Nodes { // owners first; then no other may have their CPUs
		if n.CPUsExclusive {
			for _, id := range n.CPUs {
				if other, taken := owner[id]; taken {
					fail("CPU %d is exclusive to %s and belongs to %s", id, n.Name, other)
				}
				owner[id] = n.Name
			}
		}
	}
	for _, l := range p.Links {
		if s := l.Switch; s != nil && len(s.CPUs) > 1 {
			for _, id := range s.CPUs {
				if other, taken := owner[id]; taken && other != "housekeeping" {
					fail("CPU %d of link %s belongs to %s", id, l.Name, other)
				}
				owner[id] = "link " + l.Name
			}
		}
	}
	list = append(list, receiveViolations(exp, p, owner, usable)...)
	hosts, macs, ips, devices := map[string]bool{}, map[string]bool{}, map[netip.Addr]bool{}, map[string]bool{}
	for _, n := range p.Nodes {
		want := exp.Topology.Nodes[n.Name]
		if len(n.CPUs) == 0 || len(n.MemoryNodes) == 0 {
			fail("%s has no CPU or no memory: %+v", n.Name, n)
		}
		for _, id := range n.CPUs {
			if !usable(id) {
				fail("%s has CPU %d, which is not usable", n.Name, id)
			}
			if !n.CPUsExclusive && owner[id] != "" && owner[id] != "housekeeping" {
				fail("%s shares CPU %d, which is exclusive to %s", n.Name, id, owner[id])
			}
			cpu, _ := inv.CPU(id)
			if want.MemoryNode != nil && want.CPUs > 0 && cpu.NUMANode != *want.MemoryNode {
				fail("%s has CPU %d off NUMA node %d", n.Name, id, *want.MemoryNode)
			}
		}
		if want.CPUs > 0 && (len(n.CPUs) != want.CPUs || !n.CPUsExclusive) {
			fail("%s asks for %d CPUs and has %v, exclusive %v", n.Name, want.CPUs, n.CPUs, n.CPUsExclusive)
		}
		if want.CPUList != "" && cpulist.Format(n.CPUs) != want.CPUList {
			fail("%s names CPU %s and has %v", n.Name, want.CPUList, n.CPUs)
		}
		if n.App != nil && n.App.Kind != spec.AppRoute && !slices.Contains(n.CPUs, n.App.CPU) {
			fail("%s's engine is on CPU %d, not of %v", n.Name, n.App.CPU, n.CPUs)
		}
		if hosts[n.HostName] || !strings.HasPrefix(n.HostName, p.Prefix+"-") || len(n.HostName) > maxHostName || plainName(n.HostName) != n.HostName {
			fail("%s is called %q on the host", n.Name, n.HostName)
		}
		hosts[n.HostName] = true
		for _, i := range n.Interfaces {
			if macs[i.MAC] || !strings.HasPrefix(i.MAC, "02:") || len(i.MAC) != 17 {
				fail("%s:%s has the MAC %q", n.Name, i.Name, i.MAC)
			}
			macs[i.MAC] = true
			for _, text := range i.Addresses {
				a, err := netip.ParsePrefix(text)
				if err != nil || ips[a.Addr()] || !labRange.Contains(a.Addr()) {
					fail("%s:%s has the address %q, %v", n.Name, i.Name, text, err)
				}
				ips[a.Addr()] = true
			}
		}
	}
	device := func(name string) {
		if name != "" && (devices[name] || len(name) > maxInterfaceName || !strings.HasPrefix(name, p.Prefix+"-")) {
			fail("a device is called %q", name)
		}
		devices[name] = true
	}
	for _, l := range p.Links {
		device(l.Device)
		for _, e := range l.Endpoints {
			device(e.FabricDevice)
		}
	}
	list = append(list, bypassViolations(p, usable)...)
	return append(list, trafficViolations(p)...)
}

// trafficViolations: each engine sends to an address in the lab, by a MAC address on the link it
// sends over.
func trafficViolations(p *Plan) []string {
	var list []string
	ports := []Port{p.Traffic.From}
	for _, n := range p.Nodes {
		if n.App != nil {
			ports = append(ports, n.App.Ports...)
		}
	}
	for _, port := range ports {
		found, onLink := false, false
		for _, n := range p.Nodes {
			for _, i := range n.Interfaces {
				address := netip.MustParsePrefix(i.Addresses[0])
				found = found || address.Addr().String() == port.PeerIP
				onLink = onLink || i.MAC == port.PeerMAC && address.Contains(netip.MustParseAddr(port.LocalIP))
			}
		}
		if !found || !onLink {
			list = append(list, fmt.Sprintf("port %+v sends to nobody", port))
		}
	}
	return list
}

// manyNodes is a chain of pairs: nodes on veth links, all sharing CPUs.
func manyNodes(count int) *spec.Experiment {
	exp := &spec.Experiment{Name: "many", Topology: spec.Topology{Nodes: map[string]*spec.Node{}}}
	for i := range count {
		exp.Topology.Nodes[fmt.Sprintf("n%d", i)] = &spec.Node{}
		exp.Topology.Links = append(exp.Topology.Links, &spec.Link{Endpoints: []string{fmt.Sprintf("n%d:right", i), fmt.Sprintf("n%d:left", (i+1)%count)}})
	}
	exp.Traffic = whole(spec.Traffic{From: "n0:right", To: "n1:left", RatePPS: 1})
	return exp
}

// TestThousandNodes: the plan of a large lab keeps the rules too.
func TestThousandNodes(t *testing.T) {
	for _, name := range []string{"microvm", "epyc-7551p"} {
		inv := loadHost(t, name)
		exp := manyNodes(1000)
		p, err := Make(exp, inv)
		if err != nil {
			t.Fatal(err)
		}
		for _, broken := range violations(exp, inv, p) {
			t.Errorf("%s: %s", name, broken)
		}
		if name == "epyc-7551p" && len(p.HousekeepingCPUs) < 8 {
			t.Errorf("998 idle nodes share the CPUs %v; many stand idle", p.HousekeepingCPUs)
		}
	}
}

func BenchmarkThousandNodes(b *testing.B) {
	inv, exp := loadHost(b, "epyc-7551p"), manyNodes(1000)
	for b.Loop() {
		if _, err := Make(exp, inv); err != nil {
			b.Fatal(err)
		}
	}
}
