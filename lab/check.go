package lab

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/host/tune"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/login"
	"nines.dev/nines/plan"
)

// Checked is a part of a lab, compared with the plan.
type Checked struct {
	// Part names it: "fabric", "node dut", "interface dut:in", "link left".
	Part string `json:"part"`
	// Problem is what is not as planned; empty if all is.
	Problem string `json:"problem,omitempty"`
	// Stopped is true for a node that someone has stopped.
	Stopped bool `json:"stopped,omitempty"`
}

// Check holds a lab against its plan, part by part.
func (l *Lab) Check() ([]Checked, error) {
	faults, err := l.allFaults()
	list := []Checked{{Part: "fabric"}}
	for _, n := range l.Plan().Nodes {
		list = append(list, Checked{Part: "node " + n.Name, Stopped: l.Stopped(n.Name)})
		for _, i := range n.Interfaces {
			list = append(list, Checked{Part: "interface " + n.Name + ":" + i.Name})
		}
	}
	for _, planned := range l.Plan().Links {
		list = append(list, Checked{Part: "link " + planned.Name})
	}
	for _, d := range l.Plan().Disturbances {
		list = append(list, Checked{Part: "disturb." + d.Name})
	}
	if l.Plan().Watched() {
		list = append(list, Checked{Part: watcherPart})
	}
	if l.Plan().Power != nil {
		list = append(list, Checked{Part: powerPart})
	}
	if plan.Partitions(l.Plan().Isolation) {
		list = append(list, Checked{Part: partIsolation})
	}
	if l.Plan().Tuning != "" {
		list = append(list, Checked{Part: partTuning})
	}
	for i, part := range list {
		for _, fault := range faults {
			if fault.Part == part.Part {
				list[i].Problem += "; " + fault.Problem
			}
		}
		list[i].Problem = strings.TrimPrefix(list[i].Problem, "; ")
	}
	return list, err
}

// allFaults are Faults, and Untuned.
func (l *Lab) allFaults() ([]check.Fault, error) {
	faults, err := l.Faults()
	untuned, unread := l.Untuned()
	if untuned != nil {
		faults = append(faults, *untuned)
	}
	return faults, errors.Join(err, unread)
}

// The parts of the host that a lab changes.
const (
	partIsolation = "isolation"
	partTuning    = "tuning"
)

// Faults lists the parts of the lab that have died since it came up, or are not as planned. A part
// that is gone with another is not told again: the interfaces of a dead node, or of a link whose
// program has died.
func (l *Lab) Faults() ([]check.Fault, error) {
	var faults []check.Fault
	if l.FabricDead() {
		faults = append(faults, l.deadFabric())
	}
	for _, n := range l.Plan().Nodes {
		if fault := l.nodeFault(n); fault != nil {
			faults = append(faults, *fault)
		}
	}
	dead, err := l.deadPrograms()
	engines, unread := l.deadEngines()
	disturbers, unknown := l.deadDisturbers()
	receiving, unwritten := l.receiveFaults()
	faults = slices.Concat(faults, dead, engines, disturbers, receiving)
	ill, unheard := l.healthFaults()
	watcher, unwatched := l.deadWatcher()
	controller, unpowered := l.deadPower()
	devices, unseen := l.deviceFaults(faults)
	servers, unreached := login.Faults(l.Lab)
	ports, unasked := l.portFaults(slices.Concat(faults, devices))
	shared, unlooked := l.isolationFaults()
	return slices.Concat(faults, devices, ports, ill, watcher, controller, servers, shared),
		errors.Join(err, unread, unknown, unwritten, unseen, unasked, unheard, unwatched, unpowered, unreached, unlooked)
}

func (l *Lab) deadFabric() check.Fault {
	return check.Fault{
		Of: "fabric", Part: "fabric", Problem: "the fabric is dead: its first process has ended, and with it the bridges and programs of links",
		Remedy: check.RemakeLab, Target: l.Name(),
	}
}

// nodeFault is what is wrong with a node itself; nil for one that runs, and one that someone has
// stopped.
func (l *Lab) nodeFault(n plan.Node) *check.Fault {
	r := l.Running(n.Name)
	again := r != nil && r.Network.PID != 0 && r.Network.InNamespaces()
	fault := deadNode(n)
	switch {
	case r != nil && r.Network.PID != 0 && !again:
		fault.Problem = fmt.Sprintf("node %s is dead: the process that holds its network has ended", n.Name)
	case again && r.Unfinished:
		fault.Problem = fmt.Sprintf("node %s is being stopped or started, or that was interrupted; in that case nines restart %s finishes it", n.Name, n.Name)
	case l.Alive(n.Name), l.Stopped(n.Name):
		return nil
	}
	if again {
		fault.Remedy = check.RestartNode
	}
	return &fault
}

func deadNode(n plan.Node) check.Fault {
	what := "first process"
	if n.Remote() {
		what = "pod"
	}
	return check.Fault{
		Of: n.Name, Part: "node " + n.Name, Problem: fmt.Sprintf("node %s is dead: its %s has ended", n.Name, what),
		Remedy: check.RemakeNode, Target: n.Name,
	}
}

// isolationFaults says how others have changed the control groups that keep the lab's CPUs for it. That of
// a node that is dead, stopped or no longer planned may be gone with it.
func (l *Lab) isolationFaults() ([]check.Fault, error) {
	if !plan.Partitions(l.Plan().Isolation) {
		return nil, nil
	}
	set, err := l.Isolation()
	if err != nil {
		return nil, err
	}
	now, err := isolate.Look(l.Plan())
	if err != nil {
		return nil, err
	}
	set.Groups = slices.DeleteFunc(set.Groups, func(g isolate.Group) bool {
		of := filepath.Base(g.Path)
		return of != l.Plan().Prefix &&
			!slices.ContainsFunc(l.Plan().Nodes, func(n plan.Node) bool { return n.HostName == of && l.Alive(n.Name) })
	})
	problem := compareGroups(set.Groups, now.Groups)
	if problem == "" {
		return nil, nil
	}
	return []check.Fault{{Of: partIsolation, Part: partIsolation, Problem: problem, Remedy: check.RemakeLab, Target: l.Name()}}, nil
}

// Untuned says what others have changed since of the host's tuning; nil if it is as the lab has set it. It
// is no fault of the lab's own: Apply sets it again, but others may change it as often, so a trial is
// noisy by it, and the lab stays.
func (l *Lab) Untuned() (*check.Fault, error) {
	tuning, err := l.inspectTuning()
	if tuning == nil || err != nil {
		return nil, err
	}
	var changed []string
	for _, s := range tuning.Settings {
		if s.Standing == tune.ChangedSince || s.Standing == tune.Back || s.Standing == tune.Lost {
			changed = append(changed, fmt.Sprintf("%s was set to %q and is %q", s.Path, s.Set, s.Now))
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	return &check.Fault{Of: partTuning, Part: partTuning, Problem: strings.Join(changed, ", "), Remedy: check.TuneAgain, Target: l.Name()}, nil
}

// compareGroups says how the lab's control groups differ from what was set up. It is pure.
func compareGroups(set, now []isolate.Group) string {
	for _, was := range set {
		at := slices.IndexFunc(now, func(g isolate.Group) bool { return g.Path == was.Path })
		if at < 0 {
			return fmt.Sprintf("control group %s is gone", was.Path)
		}
		if is := now[at]; is != was {
			return fmt.Sprintf("control group %s had CPUs %s (%s), and has %s (%s)", was.Path, was.CPUs, was.Partition, is.CPUs, is.Partition)
		}
	}
	return ""
}
