package receive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/busypoll"
	"nines.dev/nines/host"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Check checks, before anything is made, that the kernel supports the plan's receive modes,
// and returns the path of the program that polls.
func Check(p *plan.Plan) (poller string, err error) {
	asked := slices.ContainsFunc(p.Nodes, func(n plan.Node) bool { return n.Receive != nil })
	if !asked {
		return "", nil
	}
	features := busypoll.Probe()
	for _, n := range p.Nodes {
		if n.Receive == nil || n.Guest() { // a guest's own kernel says so once it runs
			continue
		}
		if len(n.ReceivedBy(spec.ReceiveBusyPoll)) > 0 {
			if _, _, err := busypoll.Choose(features, n.Receive.Mechanism); err != nil {
				return "", fmt.Errorf("node %q: rx: busy_poll: %w", n.Name, err)
			}
		}
		for _, one := range []struct {
			way  spec.Receive
			lack busypoll.Lack
			name string
		}{
			{spec.ReceiveThreaded, features.Threaded, host.FeatureThreadedNAPI},
			{spec.ReceiveSuspend, features.Suspend, host.FeatureIRQSuspend},
		} {
			if len(n.ReceivedBy(one.way)) > 0 && !one.lack.None() {
				return "", fmt.Errorf("node %q: rx: %s: %w", n.Name, one.way,
					one.lack.Missing(one.name, "use a newer kernel, or rx: interrupt or awake"))
			}
		}
	}
	return node.Program("nines-poller")
}

// Maker sets up the receive modes of a lab.
type Maker struct {
	*running.Lab
	Journal *journal.Journal
	// Poller is the program that polls.
	Poller string
}

// SetUp sets up the receive modes of nodes, those that again names. Their devices are already up, and nothing
// has opened a socket there yet.
func (m Maker) SetUp(ctx context.Context, again map[string]bool) error {
	records, err := Records(m.Lab)
	if err != nil {
		return err
	}
	stays := func(r Record) bool { return !again[r.Node] && m.Index().Node(r.Node) != nil }
	records = slices.DeleteFunc(records, func(r Record) bool { return !stays(r) })
	var features busypoll.Features
	for _, n := range m.Plan().Nodes {
		if n.Receive == nil || !again[n.Name] {
			continue
		}
		var list []Record
		if g := node.GuestOf(n); g != nil {
			list, err = m.setUpGuest(ctx, g, n)
		} else {
			if features == (busypoll.Features{}) {
				features = busypoll.Probe()
			}
			list, err = m.setUpNode(ctx, n, features)
		}
		if err != nil {
			return fmt.Errorf("node %q: %w", n.Name, err)
		}
		records = append(records, list...)
	}
	if len(records) == 0 {
		return state.AbsentIsFine(os.Remove(m.State().Receive()))
	}
	return state.WriteJSON(m.State().Receive(), records)
}

func (m Maker) setUpNode(ctx context.Context, n plan.Node, features busypoll.Features) ([]Record, error) {
	if err := os.MkdirAll(m.State().Pollers(), 0o700); err != nil {
		return nil, err
	}
	ns, err := m.Running(n.Name).Namespace()
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	var records []Record
	for _, way := range plan.ReceiveOrder {
		interfaces := n.ReceivedBy(way)
		if len(interfaces) == 0 {
			continue
		}
		site := busypoll.Site{
			Journal: m.Journal, Namespace: ns, Program: m.Poller, Dir: m.State().Pollers(),
			Name: n.Name + "." + string(way), Node: n.Name, Features: features,
		}
		if way == spec.ReceiveAwake || !n.Receive.CPUsExclusive {
			if site.Groups, err = m.cpusetOf(n); err != nil {
				return nil, err
			}
		}
		run, err := site.Start(ctx, receiveRequest(n, way, interfaces))
		if err != nil {
			return nil, fmt.Errorf("rx: %s: %w", way, err)
		}
		records = append(records, recordsOf(n.Name, interfaces, run)...)
	}
	return records, nil
}

// receiveRequest is what the plan says about one receive mode, with the CPUs as the node numbers them.
func receiveRequest(n plan.Node, way spec.Receive, interfaces []string) busypoll.Request {
	r := n.Receive
	request := busypoll.Request{Receive: way, Interfaces: interfaces}
	switch way {
	case spec.ReceiveAwake:
		request.CPUs = n.GuestCPUs(r.AwakeCPUs)
	case spec.ReceiveThreaded:
		request.CPUs, request.Scheduling = n.GuestCPUs(r.CPUs), r.Threaded
	case spec.ReceiveBusyPoll:
		request.CPUs, request.Scheduling, request.Mechanism = n.GuestCPUs(r.CPUs), r.Polling, r.Mechanism
		request.Shared = !r.CPUsExclusive
		request.Adaptive, request.Longest = r.Adaptive, time.Duration(r.Longest)
	case spec.ReceiveInterrupt, spec.ReceiveSuspend:
	}
	return request
}

// cpusetOf is the file for joining the cpuset that isolates a node's CPUs: a process can use them
// only there. Nodes without such a cpuset have no file.
func (m Maker) cpusetOf(n plan.Node) ([]string, error) {
	if !n.Isolated {
		return nil, nil
	}
	dirs, err := cgroup.DirsOf(m.PID(n.Name))
	if err != nil {
		return nil, err
	}
	if dirs["cpuset"] == "" {
		return nil, errors.New("its cpuset was not found")
	}
	return []string{filepath.Join(dirs["cpuset"], "cgroup.procs")}, nil
}

// recordsOf returns what was set up, by interface.
func recordsOf(nodeName string, interfaces []string, run *busypoll.Running) []Record {
	var list []Record
	for _, name := range interfaces {
		record := Record{State: State{
			Node: nodeName, Interface: name, RX: run.Receive, Mechanism: run.Mechanism, Why: run.Why, Notes: run.Notes,
		}}
		for _, made := range run.Interfaces {
			if made.Name != name {
				continue
			}
			record.Index, record.Settings = made.Index, made.Changed
			for _, instance := range made.NAPIs {
				record.NAPIs = append(record.NAPIs, instance.ID)
			}
		}
		if run.Poller != nil {
			record.Poller, record.Scheduling = *run.Poller, run.Scheduling
		}
		if run.Guard != nil {
			record.Guard = *run.Guard
		}
		list = append(list, record)
	}
	return list
}

// IsStep selects the steps of a node's receive modes: settings of devices and of CPUs' wake-up
// latency, and the processes that poll or keep CPUs awake.
func IsStep(e journal.Entry, node string) bool {
	if e.Node != node {
		return false
	}
	switch e.Kind {
	case busypoll.KindDevice, busypoll.KindModule:
		return true
	case setting.Kind:
		return strings.Contains(e.Path, "/power/pm_qos_")
	case process.Kind:
		return e.Name == busypoll.PollerStep
	}
	return false
}
