package plan

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// randomReceive gives some nodes of a random experiment a receive mode, and pollers.
func randomReceive(r *rand.Rand, exp *spec.Experiment, inv *host.Inventory) {
	if exp.Traffic.Backend == spec.BackendDPDK {
		return // most of its ends bypass the kernel
	}
	ways := []spec.Receive{"", spec.ReceiveInterrupt, spec.ReceiveAwake, spec.ReceiveThreaded, spec.ReceiveBusyPoll, spec.ReceiveSuspend}
	for _, name := range slices.Sorted(maps.Keys(exp.Topology.Nodes)) {
		n := exp.Topology.Nodes[name]
		if r.IntN(3) > 0 || slices.ContainsFunc(exp.Topology.Links, func(l *spec.Link) bool { return l.Kind == spec.LinkMemif }) {
			continue
		}
		n.RX = ways[r.IntN(len(ways))]
		if r.IntN(2) == 0 {
			n.Polling = &spec.Polling{CPUs: r.IntN(3), Adaptive: r.IntN(2) == 0}
			if r.IntN(6) == 0 {
				n.Polling = &spec.Polling{CPUList: fmt.Sprint(r.IntN(len(inv.CPUs)))}
			}
		}
	}
	for _, l := range exp.Topology.Links {
		if r.IntN(6) == 0 && l.Kind != spec.LinkMemif {
			l.RX = map[string]spec.Receive{l.Endpoints[0]: ways[1+r.IntN(len(ways)-1)]}
		}
	}
}

// receiveViolations: polling threads have CPUs; their own CPUs are nobody else's, and shared ones
// are the node's.
func receiveViolations(exp *spec.Experiment, p *Plan, owner map[int]string, usable func(int) bool) []string {
	var list []string
	fail := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, n := range p.Nodes {
		want := exp.Topology.Nodes[n.Name]
		polls, awake := false, false
		for _, i := range n.Interfaces {
			link := &spec.Link{} // the management network, which is no link of the file
			if at := slices.IndexFunc(p.Links, func(l Link) bool { return l.Name == i.Link }); at < len(exp.Topology.Links) {
				link = exp.Topology.Links[at]
			}
			way := exp.ReceiveOf(link, n.Name, i.Name)
			if i.RX != way && (i.RX != "" || way != spec.ReceiveInterrupt) {
				fail("%s:%s is to be received by %s, not %s", n.Name, i.Name, way, i.RX)
			}
			polls, awake = polls || i.RX.Polls(), awake || i.RX == spec.ReceiveAwake
		}
		r := n.Receive
		if r == nil {
			if polls || awake {
				fail("%s receives by nothing", n.Name)
			}
			continue
		}
		if polls != (len(r.CPUs) > 0) || awake != (len(r.AwakeCPUs) > 0) {
			fail("%s polls: %v, awake: %v, and has %+v", n.Name, polls, awake, r)
		}
		for _, id := range slices.Concat(r.CPUs, r.AwakeCPUs) {
			if !usable(id) {
				fail("%s polls on CPU %d, which is not usable", n.Name, id)
			}
		}
		for _, id := range r.AwakeCPUs {
			if !slices.Contains(n.CPUs, id) {
				fail("%s keeps CPU %d awake, which is not its own", n.Name, id)
			}
		}
		for _, id := range r.CPUs {
			other := owner[id]
			switch {
			case r.CPUsExclusive && other != "" || r.CPUsExclusive && slices.Contains(n.CPUs, id):
				fail("%s polls on CPU %d of its own, which %q has", n.Name, id, other)
			case r.CPUsExclusive:
				owner[id] = "the pollers of " + n.Name
			case want.Polling.OwnCPUs() == 0 && !slices.Contains(n.CPUs, id):
				fail("%s polls on CPU %d, which is not its own", n.Name, id)
			}
		}
		if polls && want.Polling.OwnCPUs() > 0 && len(r.CPUs) != want.Polling.OwnCPUs() {
			fail("%s asks for %d CPUs to poll on and has %v", n.Name, want.Polling.OwnCPUs(), r.CPUs)
		}
	}
	return list
}

// Polling threads are on the NUMA node of the node they poll for, where there is room.
func TestPollersAreBesideTheirNode(t *testing.T) {
	inv := loadHost(t, "epyc-7551p")
	for numa := range 8 {
		if !slices.ContainsFunc(inv.NUMANodes, func(u host.NUMANode) bool { return u.ID == numa }) {
			continue
		}
		exp := loadExperiment(t, "testdata/receive-isolated.yaml")
		exp.Topology.Nodes["dut"].MemoryNode = &numa
		p, err := Make(exp, inv)
		if err != nil {
			t.Fatal(err)
		}
		if got := numaOf(inv, findPlanned(t, p, "dut").Receive.CPUs); !slices.Equal(got, []int{numa}) {
			t.Errorf("the node is on NUMA node %d, its pollers on %v", numa, got)
		}
	}
}

// Polling threads in a virtual machine have CPUs of the guest, which the host's CPUs of the pollers run.
func TestPollersInAGuestHaveItsCPUs(t *testing.T) {
	exp := loadExperiment(t, "testdata/receive-isolated.yaml")
	exp.Isolation = spec.IsolationAffinity
	exp.Topology.Nodes["dut"].Runtime = spec.RuntimeVM
	p, err := Make(exp, loadHost(t, "epyc-7551p"))
	if err != nil {
		t.Fatal(err)
	}
	n := findPlanned(t, p, "dut")
	if n.VM.VCPUs != 2 || !n.VM.Pinned || !slices.Equal(n.RunOn(), slices.Concat(n.CPUs, n.Receive.CPUs)) {
		t.Errorf("the guest has %d CPUs, run by %v; the node has %v and its pollers %v", n.VM.VCPUs, n.RunOn(), n.CPUs, n.Receive.CPUs)
	}
	if own, pollers := n.GuestCPUs(n.CPUs), n.GuestCPUs(n.Receive.CPUs); !slices.Equal(own, []int{0}) || !slices.Equal(pollers, []int{1}) {
		t.Errorf("in the guest the node has CPUs %v and its pollers %v", own, pollers)
	}
}

func findPlanned(t *testing.T, p *Plan, name string) Node {
	t.Helper()
	i := slices.IndexFunc(p.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		t.Fatalf("no node %s", name)
	}
	return p.Nodes[i]
}

// Pollers that leave no CPU time to the application are refused, and so are pollers without a free
// CPU.
func TestPollersThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		name, host, file string
		change           func(*spec.Node)
		says             string
		exit             int
	}{
		{"real-time on the node's own CPU", "microvm", "receive-shared",
			func(n *spec.Node) {
				n.Polling = &spec.Polling{Scheduling: &spec.Scheduling{Policy: spec.SchedulingFIFO, Priority: 1}}
			}, "nothing else would run there", 3},
		{"beside an engine that never sleeps", "microvm", "receive-shared", func(n *spec.Node) { n.App.Wait = spec.WaitSpin }, "next to nothing of it", 3},
		{"too few CPUs", "microvm", "receive-shared", func(n *spec.Node) { n.Polling = &spec.Polling{CPUs: 2} }, "the poller of dut requests 2", 3},
		{"a priority that nothing stops", "epyc-7551p", "receive-isolated",
			func(n *spec.Node) { n.Polling.Scheduling.Priority = 99 }, "98 or less", 2},
		{"kernel threads whose guard could not come above them", "epyc-7551p", "receive-isolated",
			func(n *spec.Node) { n.RX, n.Polling.Scheduling.Priority = spec.ReceiveThreaded, 99 }, "98 or less", 2},
		{"the node's own CPU by name", "epyc-7551p", "receive-isolated",
			func(n *spec.Node) { n.CPUList, n.Polling = "9", &spec.Polling{CPUList: "9"} }, "CPU 9 is in the list of node dut", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			exp := loadExperiment(t, "testdata/"+c.file+".yaml")
			c.change(exp.Topology.Nodes["dut"])
			_, err := Make(exp, loadHost(t, c.host))
			if err == nil || !strings.Contains(err.Error(), c.says) || exit.Code(err) != c.exit {
				t.Errorf("%v, not %q with exit code %d", err, c.says, c.exit)
			}
		})
	}
}

// The error about a refused priority names the key of the priority.
func TestPriorityThatNothingStopsIsFoundInTheFile(t *testing.T) {
	for _, way := range []spec.Receive{spec.ReceiveThreaded, spec.ReceiveBusyPoll} {
		exp := loadExperiment(t, "testdata/receive-isolated.yaml")
		dut := exp.Topology.Nodes["dut"]
		dut.RX, dut.Polling.Scheduling.Priority = way, 99
		_, err := Make(exp, loadHost(t, "epyc-7551p"))
		var has interface{ Key() []string }
		if want := "topology nodes dut polling scheduling priority"; !errors.As(err, &has) || strings.Join(has.Key(), " ") != want {
			t.Errorf("%s: %v is not of %s", way, err, want)
		}
	}
}

// Kernel threads with a real-time policy sleep when no packets come, so they may share their CPUs;
// notes say how they affect others there, and how the kernel limits them.
func TestRealTimeKernelThreadsAreTold(t *testing.T) {
	realTime := &spec.Scheduling{Policy: spec.SchedulingFIFO, Priority: 5}
	for _, c := range []struct {
		name, host, file string
		polling          *spec.Polling
		shares, stopped  bool
	}{
		{"on CPUs of their own", "epyc-7551p", "receive-isolated", &spec.Polling{CPUs: 1, Scheduling: realTime}, false, true},
		{"on the node's", "microvm", "receive-shared", &spec.Polling{Scheduling: realTime}, true, true},
		{"of the kernel's policy", "microvm", "receive-shared", nil, false, false},
	} {
		exp := loadExperiment(t, "testdata/"+c.file+".yaml")
		exp.Topology.Nodes["dut"].RX, exp.Topology.Nodes["dut"].Polling = spec.ReceiveThreaded, c.polling
		p, err := Make(exp, loadHost(t, c.host))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		said := func(text string) bool {
			return slices.ContainsFunc(p.Notes, func(note string) bool { return strings.Contains(note, text) })
		}
		if shares, stopped := said("so nothing else runs there while packets come"), said("a kernel thread that packets keep busy receives as fifo 5"); shares != c.shares || stopped != c.stopped {
			t.Errorf("%s: told of sharing: %v, of what stops them: %v: %q", c.name, shares, stopped, p.Notes)
		}
	}
}

// A kernel that does not support the file's rx is found before anything is made.
func TestReceiveNeeds(t *testing.T) {
	exp := loadExperiment(t, "testdata/receive-shared.yaml")
	old := loadHost(t, "microvm")
	old.SetFeatures([]host.Feature{
		{Name: host.FeatureBusyPoll, State: host.StateNo, Detail: "needs Linux 6.9"},
		{Name: host.FeatureIOUringNAPI, State: host.StateNo, Detail: "needs Linux 6.13"},
		{Name: host.FeatureIRQSuspend, State: host.StateNo, Detail: "needs Linux 6.13"},
		{Name: host.FeatureThreadedNAPI, State: host.StateNo, Detail: "needs Linux 5.12"},
	})
	for _, c := range []struct {
		way       spec.Receive
		mechanism spec.PollMechanism
		lacks     string
	}{
		{spec.ReceiveInterrupt, "", ""},
		{spec.ReceiveAwake, "", ""},
		{spec.ReceiveThreaded, "", host.FeatureThreadedNAPI},
		{spec.ReceiveBusyPoll, "", host.FeatureBusyPoll},
		{spec.ReceiveBusyPoll, spec.PollIOUring, host.FeatureIOUringNAPI},
		{spec.ReceiveSuspend, "", host.FeatureIRQSuspend},
	} {
		n := exp.Topology.Nodes["dut"]
		n.RX, n.Polling = c.way, &spec.Polling{Mechanism: c.mechanism}
		err := host.Missing(host.Check(old, Needs(exp)))
		var missing *exit.MissingError
		switch {
		case c.lacks == "" && err != nil:
			t.Errorf("%s: %v", c.way, err)
		case c.lacks != "" && (!errors.As(err, &missing) || missing.Capability != c.lacks || missing.ExitCode() != 3 || missing.Remedy == ""):
			t.Errorf("%s by %q: %v, which is not the lack of %s", c.way, c.mechanism, err, c.lacks)
		}
	}
	if err := host.Missing(host.Check(loadHost(t, "microvm"), Needs(exp))); err != nil {
		t.Errorf("a kernel that has it: %v", err)
	}
}
