package lab

import (
	"errors"
	"slices"
	"strings"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/bmc"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/disturb"
	"nines.dev/nines/lab/login"
	"nines.dev/nines/lab/receive"
	"nines.dev/nines/lab/service"
	"nines.dev/nines/lab/watch"
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
		list = append(list, Checked{Part: watch.Part})
	}
	if l.Plan().Power != nil {
		list = append(list, Checked{Part: bmc.Part})
	}
	if plan.Partitions(l.Plan().Isolation) {
		list = append(list, Checked{Part: check.PartIsolation})
	}
	if l.Plan().Tuning != "" {
		list = append(list, Checked{Part: check.PartTuning})
	}
	problems := map[string][]string{}
	for _, fault := range faults {
		problems[fault.Part] = append(problems[fault.Part], fault.Problem)
	}
	for i, part := range list {
		list[i].Problem = strings.Join(problems[part.Part], "; ")
	}
	return list, err
}

// allFaults are Faults, the engines that do not serve, and what others have changed of the host's tuning.
func (l *Lab) allFaults() ([]check.Fault, error) {
	faults, err := l.faults(true)
	untuned, unread := check.Untuned(l.Lab)
	if untuned != nil {
		faults = append(faults, *untuned)
	}
	return faults, errors.Join(err, unread)
}

// Faults lists the parts of the lab that have died since it came up, or are not as planned. A part
// that is gone with another is not told again: the interfaces of a dead node, or of a link whose
// program has died.
func (l *Lab) Faults() ([]check.Fault, error) { return l.faults(false) }

func (l *Lab) faults(askEngines bool) ([]check.Fault, error) {
	var faults []check.Fault
	if l.FabricDead() {
		faults = append(faults, check.DeadFabric(l.Lab))
	}
	var endings proc.Endings
	for _, n := range l.Plan().Nodes {
		if fault := check.Node(l.Lab, n, &endings); fault != nil {
			faults = append(faults, *fault)
		}
	}
	dead, err := check.Programs(l.Lab)
	engines, unread := check.Engines(l.Lab, askEngines)
	services, unfound := service.Faults(l.Lab)
	disturbers, unknown := disturb.Faults(l.Lab)
	receiving, unwritten := receive.Faults(l.Lab)
	faults = slices.Concat(faults, dead, engines, services, disturbers, receiving)
	watched, unheard := watch.Faults(l.Lab)
	controller, unpowered := bmc.Faults(l.Lab)
	devices, unseen := check.Devices(l.Lab, faults)
	servers, unreached := login.Faults(l.Lab)
	ports, unasked := check.Ports(l.Lab, slices.Concat(faults, devices))
	shared, unlooked := check.Isolation(l.Lab)
	return slices.Concat(faults, devices, ports, watched, controller, servers, shared),
		errors.Join(err, unread, unfound, unknown, unwritten, unseen, unasked, unheard, unpowered, unreached, unlooked)
}
