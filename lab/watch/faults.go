package watch

import (
	"errors"
	"fmt"
	"slices"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/health"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
)

// Part is what check and faults call the watcher.
const Part = "watcher"

// healthFaults are the nodes that run and do not do their work, and those that are dead as their policy
// could not restart them: with the reason, which the node's own fault does not know.
func healthFaults(l *running.Lab) ([]check.Fault, error) {
	list, err := Health(l)
	var faults []check.Fault
	for _, h := range list {
		if h.Failed != "" && !l.Alive(h.Node) && !l.Stopped(h.Node) {
			of := "the restart policy of node " + h.Node
			faults = append(faults, check.Fault{
				Of: of, Part: "node " + h.Node,
				Problem: fmt.Sprintf("node %s could not be restarted: %s", h.Node, h.Failed),
				Remedy:  check.RestartNode, Target: h.Node,
			})
		}
		if h.Health == nil || h.Status != health.Unhealthy || !l.Alive(h.Node) {
			continue
		}
		faults = append(faults, check.Fault{
			Of: "the health of node " + h.Node, Part: "node " + h.Node,
			Problem: fmt.Sprintf("node %s is unhealthy: %d checks in a row have failed; the last one: %s", h.Node, h.Failures, h.Said),
			Remedy:  check.RestartNode, Target: h.Node,
		})
	}
	return faults, err
}

// deadWatcher says if the process that watches the lab's nodes has ended.
func deadWatcher(l *running.Lab) ([]check.Fault, error) {
	if !l.Plan().Watched() || state.ReadOwner(l.State().Measured()).PID != 0 {
		return nil, nil
	}
	j, err := journal.Read(l.State().Journal())
	if err != nil {
		return nil, err
	}
	id := process.OfStep(j, IsWatcher)
	if id.PID != 0 && id.Alive() {
		return nil, nil
	}
	problem := fmt.Sprintf("the lab's watcher has exited (process %d): the health of its nodes is unknown, and their restart policies do not work", id.PID)
	if said := node.LastLines(l.State().WatcherLog()); said != "" {
		problem += "; its last output was: " + said
	}
	return []check.Fault{{Of: Part, Part: Part, Problem: problem, Remedy: check.WatchAgain, Target: l.Name()}}, nil
}

// watcherEnded is an error if the nodes' health will no longer change.
func watcherEnded(l *running.Lab) error {
	faults, err := deadWatcher(l)
	if err == nil && len(faults) > 0 {
		err = faults[0]
	}
	return err
}

// Faults are what a lab's watcher has found of its nodes, and the watcher itself, if it has ended.
func Faults(l *running.Lab) ([]check.Fault, error) {
	ill, err := healthFaults(l)
	dead, unread := deadWatcher(l)
	return slices.Concat(ill, dead), errors.Join(err, unread)
}
