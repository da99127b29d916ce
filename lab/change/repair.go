package change

import (
	"slices"

	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
)

// Repair is Compare for a lab with faults: it recreates or restarts what has died, and sets again what others
// have changed. It is pure; stopped is true for a node that someone has stopped.
func Repair(from, to *plan.Plan, faults []check.Fault, stopped func(nodeName string) bool) Changes {
	has := func(r check.Remedy, target string) bool {
		return slices.ContainsFunc(faults, func(f check.Fault) bool { return f.Remedy == r && f.Target == target })
	}
	living := *from
	living.Nodes, living.Links = nil, nil
	for _, planned := range from.Links {
		if !has(check.RemakeLink, planned.Name) {
			living.Links = append(living.Links, planned)
		}
	}
	for _, n := range from.Nodes {
		if !has(check.RemakeNode, n.Name) {
			living.Nodes = append(living.Nodes, n)
		}
	}
	changes := compare(&living, to, link.SocketsOf(from))
	for _, n := range to.Nodes {
		if slices.Contains(changes.Begun(), n.Name) {
			continue
		}
		if has(check.RestartNode, n.Name) {
			changes.restart(to, n.Name)
		} else if stopped(n.Name) {
			changes.leaveStopped(n.Name)
		} else {
			include(&changes.RestartedApps, n.Name, n.App != nil && has(check.RestartApp, n.Name))
			for _, s := range n.Services {
				include(&changes.RestartedServices, n.Name+":"+s.Name, has(check.RestartService, n.Name+":"+s.Name))
			}
			include(&changes.Received, n.Name, has(check.ReceiveAgain, n.Name))
			include(&changes.Logins, n.Name, has(check.LoginAgain, n.Name))
		}
		include(&changes.Adjusted, n.Name, has(check.AdjustNode, n.Name))
		for _, i := range n.Interfaces {
			include(&changes.Reconfigured, n.Name+":"+i.Name, has(check.Reconfigure, n.Name+":"+i.Name))
		}
	}
	if slices.ContainsFunc(faults, func(f check.Fault) bool { return f.Remedy == check.WatchAgain }) && to.Watched() {
		for _, n := range to.Nodes {
			include(&changes.Watched, n.Name, n.Watched())
		}
	}
	changes.Power = changes.Power || slices.ContainsFunc(faults, func(f check.Fault) bool { return f.Remedy == check.PowerAgain })
	changes.Tuning = changes.Tuning || has(check.TuneAgain, from.Name)
	changes.Disturbances = changes.Disturbances || slices.ContainsFunc(faults, func(f check.Fault) bool { return f.Remedy == check.DisturbAgain })
	changes.AddedNodes, changes.ReplacedNodes = anew(changes.AddedNodes, changes.ReplacedNodes, func(name string) bool { return from.Node(name) != nil })
	changes.AddedLinks, changes.ReplacedLinks = anew(changes.AddedLinks, changes.ReplacedLinks, func(name string) bool { return from.Link(name) != nil })
	for _, planned := range from.Links {
		if living.Link(planned.Name) == nil && to.Link(planned.Name) == nil {
			changes.RemovedLinks = append(changes.RemovedLinks, planned.Name)
		}
	}
	for _, n := range from.Nodes {
		if living.Node(n.Name) == nil && to.Node(n.Name) == nil {
			changes.RemovedNodes = append(changes.RemovedNodes, n.Name)
		}
	}
	return changes
}

// anew lists what was added as replaced if the lab's plan has it: it was left out as it is dead.
func anew(added, replaced []string, planned func(name string) bool) (_, _ []string) {
	var really []string
	for _, name := range added {
		if planned(name) {
			replaced = append(replaced, name)
		} else {
			really = append(really, name)
		}
	}
	return really, replaced
}
