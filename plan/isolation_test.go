package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// isolated is the experiment of two(), with a CPU for the forwarder.
func isolated(degree spec.Isolation) *spec.Experiment {
	exp := two()
	exp.Isolation = degree
	exp.Topology.Nodes["dut"].CPUs = 1
	return exp
}

func makePlan(t *testing.T, exp *spec.Experiment, inv *host.Inventory) *Plan {
	t.Helper()
	p, err := Make(exp, inv)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDegreesOfIsolation(t *testing.T) {
	inv := loadHost(t, "epyc-7551p")
	affinity := makePlan(t, isolated(""), inv)
	if affinity.Isolation != spec.IsolationAffinity || len(affinity.IsolatedCPUs) > 0 {
		t.Errorf("by default: %s, %v", affinity.Isolation, affinity.IsolatedCPUs)
	}
	for _, degree := range []spec.Isolation{spec.IsolationPartition, spec.IsolationIsolated} {
		p := makePlan(t, isolated(degree), inv)
		var own []int
		for i, n := range p.Nodes {
			if !slices.Equal(n.CPUs, affinity.Nodes[i].CPUs) {
				t.Errorf("%s: node %s is on %v, and with affinity on %v: the degrees could not be compared", degree, n.Name, n.CPUs, affinity.Nodes[i].CPUs)
			}
			if !n.Isolated {
				t.Errorf("%s: node %s is not isolated", degree, n.Name)
			}
			own = append(own, n.CPUs...)
		}
		for _, cpu := range own {
			if !slices.Contains(p.IsolatedCPUs, cpu) || slices.Contains(p.HousekeepingCPUs, cpu) {
				t.Errorf("%s: CPU %d: isolated %v, housekeeping %v", degree, cpu, p.IsolatedCPUs, p.HousekeepingCPUs)
			}
		}
	}
	none := makePlan(t, isolated(spec.IsolationNone), inv)
	for _, n := range none.Nodes {
		if n.CPUsExclusive || len(n.CPUs) != 32 || n.App != nil && n.App.CPU != -1 {
			t.Errorf("none: node %s has %v, exclusive %v, %+v", n.Name, n.CPUs, n.CPUsExclusive, n.App)
		}
	}
	if none.Traffic.FromCPU != -1 || none.Traffic.ToCPU != -1 {
		t.Errorf("none: the generator is on CPU %d, its sink on %d", none.Traffic.FromCPU, none.Traffic.ToCPU)
	}
}

// The idle sibling of a poller's CPU is isolated like the poller's CPU.
func TestSiblingsOfPollersAreIsolatedToo(t *testing.T) {
	exp := isolated(spec.IsolationIsolated)
	exp.Traffic.Wait = spec.WaitSpin
	exp.Traffic.Backend = spec.BackendRaw
	inv := loadHost(t, "laptop-i7-1165g7")
	p := makePlan(t, exp, inv)
	for _, id := range p.IsolatedCPUs {
		cpu, err := inv.CPU(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, sibling := range cpu.Siblings {
			if !slices.Contains(p.IsolatedCPUs, sibling) {
				t.Errorf("CPU %d is isolated, and its sibling %d is not: %v", id, sibling, p.IsolatedCPUs)
			}
		}
	}
	if len(p.IsolatedCPUs) != 4 {
		t.Errorf("isolated: %v", p.IsolatedCPUs)
	}
}

func TestAProgramOfALinkIsQuietAndNotIsolated(t *testing.T) {
	exp := isolated(spec.IsolationIsolated)
	exp.Topology.Links[0].Kind = spec.LinkSwitch
	p := makePlan(t, exp, loadHost(t, "epyc-7551p"))
	cpus := p.Links[0].Switch.CPUs
	if !slices.Equal(p.QuietCPUs, cpus) || slices.Contains(p.IsolatedCPUs, cpus[0]) {
		t.Errorf("the switch is on %v; quiet %v, isolated %v", cpus, p.QuietCPUs, p.IsolatedCPUs)
	}
	if !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "by affinity only") }) {
		t.Errorf("no note says so: %q", p.Notes)
	}
}

// TestIsolationThatIsImpossible: an isolation without effect is refused with a remedy.
func TestIsolationThatIsImpossible(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*spec.Experiment, *host.Inventory)
		want   string
	}{
		"one CPU": {func(e *spec.Experiment, inv *host.Inventory) {
			inv.AllowedCPUs, e.Topology.Nodes["dut"].CPUs = []int{0}, 0
		}, "isolation: isolated needs a CPU of its own; the host has 1 CPU that this process may use, which is for housekeeping; " +
			"use a host with two or more, or --set isolation=none"},
		"all named": {func(e *spec.Experiment, _ *host.Inventory) {
			*e.Topology.Nodes["dut"] = spec.Node{CPUList: "0-1"}
			delete(e.Topology.Nodes, "gen")
			e.Topology.Links, e.Traffic = nil, nil
		}, "the nodes' cpu_lists name every CPU, and one of them is the host's too; leave one CPU out of them, or --set isolation=affinity"},
		"nobody asks": {func(e *spec.Experiment, _ *host.Inventory) {
			e.Topology.Nodes["dut"] = &spec.Node{}
			delete(e.Topology.Nodes, "gen")
			e.Topology.Links, e.Traffic = nil, nil
		}, "no node asks for one; give a node cpus: 1, or --set isolation=affinity"},
	} {
		inv := loadHost(t, "microvm")
		exp := isolated(spec.IsolationIsolated)
		test.change(exp, inv)
		_, err := Make(exp, inv)
		var impossible *Impossible
		if !errors.As(err, &impossible) || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// Two CPUs: one is isolated, the sender is on the other, and a note says so.
	p := makePlan(t, isolated(spec.IsolationIsolated), loadHost(t, "microvm"))
	if !slices.Equal(p.IsolatedCPUs, []int{1}) || !slices.Equal(p.HousekeepingCPUs, []int{0}) {
		t.Errorf("isolated %v, housekeeping %v", p.IsolatedCPUs, p.HousekeepingCPUs)
	}
}

func TestHugepagesOfANodeAreLimited(t *testing.T) {
	exp := isolated("")
	exp.Traffic.Backend = spec.BackendDPDK
	exp.Topology.Links[1].Kind = spec.LinkSwitch
	exp.Topology.Links[0].Kind = spec.LinkSwitch
	exp.DPDK = &spec.DPDK{Memory: 33 << 20}
	inv := loadHost(t, "epyc-7551p")
	for _, n := range makePlan(t, exp, inv).Nodes {
		if n.HugepageBytes != 34<<20 || n.HugepageSize != 2<<20 {
			t.Errorf("node %s takes 33 MiB and is limited to %d bytes of %d", n.Name, n.HugepageBytes, n.HugepageSize)
		}
	}
	exp.Topology.Nodes["gen"].HugepageLimit = 2 << 20
	var conflict *Conflict
	if _, err := Make(exp, inv); !errors.As(err, &conflict) {
		t.Errorf("a limit below what the engine takes: %v", err)
	}
	exp.DPDK.Hugepages = spec.HugepagesNone
	if n := makePlan(t, exp, inv).Nodes[1]; n.HugepageBytes != 2<<20 {
		t.Errorf("a limit without DPDK's hugepages: %d", n.HugepageBytes)
	}
}
