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
	type need struct {
		remedy check.Remedy
		target string
	}
	needs := map[need]bool{}
	for _, f := range faults {
		needs[need{f.Remedy, f.Target}] = true
	}
	has := func(r check.Remedy, target string) bool { return needs[need{r, target}] }
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
	begun, off := Set(changes.Begun()), map[string]bool{}
	apps, received, logins := addTo(&changes.RestartedApps), addTo(&changes.Received), addTo(&changes.Logins)
	services := addTo(&changes.RestartedServices)
	adjusted, reconfigured := addTo(&changes.Adjusted), addTo(&changes.Reconfigured)
	var restarted []string
	for _, n := range to.Nodes {
		if begun[n.Name] {
			continue
		}
		switch {
		case has(check.RestartNode, n.Name):
			restarted = append(restarted, n.Name)
		case stopped(n.Name):
			off[n.Name] = true
		default:
			apps.add(n.Name, n.App != nil && has(check.RestartApp, n.Name))
			for _, s := range n.Services {
				services.add(n.Name+":"+s.Name, has(check.RestartService, n.Name+":"+s.Name))
			}
			received.add(n.Name, has(check.ReceiveAgain, n.Name))
			logins.add(n.Name, has(check.LoginAgain, n.Name))
		}
		adjusted.add(n.Name, has(check.AdjustNode, n.Name))
		for _, i := range n.Interfaces {
			name := n.Name + ":" + i.Name
			reconfigured.add(name, has(check.Reconfigure, name))
		}
	}
	changes.leaveStopped(off)
	changes.restart(to, restarted)
	if slices.ContainsFunc(faults, func(f check.Fault) bool { return f.Remedy == check.WatchAgain }) && to.Watched() {
		watched := addTo(&changes.Watched)
		for _, n := range to.Nodes {
			watched.add(n.Name, n.Watched())
		}
	}
	changes.Power = changes.Power || slices.ContainsFunc(faults, func(f check.Fault) bool { return f.Remedy == check.PowerAgain })
	changes.Tuning = changes.Tuning || has(check.TuneAgain, from.Name)
	changes.Disturbances = changes.Disturbances || slices.ContainsFunc(faults, func(f check.Fault) bool { return f.Remedy == check.DisturbAgain })
	was, is, lives := from.Index(), to.Index(), living.Index()
	changes.AddedNodes, changes.ReplacedNodes = anew(changes.AddedNodes, changes.ReplacedNodes, func(name string) bool { return was.Node(name) != nil })
	changes.AddedLinks, changes.ReplacedLinks = anew(changes.AddedLinks, changes.ReplacedLinks, func(name string) bool { return was.Link(name) != nil })
	for _, planned := range from.Links {
		if lives.Link(planned.Name) == nil && is.Link(planned.Name) == nil {
			changes.RemovedLinks = append(changes.RemovedLinks, planned.Name)
		}
	}
	for _, n := range from.Nodes {
		if lives.Node(n.Name) == nil && is.Node(n.Name) == nil {
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
