package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/folder"
	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/health"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/lab/watch"
)

// Condition is the state of a lab's life cycle.
type Condition string

// ConditionUp is a finished lab; ConditionIncomplete one whose start or change was interrupted;
// ConditionChanging one that a process is making, changing or removing; ConditionMeasuring one that
// a process measures and holds from start to end; ConditionOrphaned one whose measuring process
// died.
const (
	ConditionUp         Condition = "up"
	ConditionIncomplete Condition = "incomplete"
	ConditionChanging   Condition = "changing"
	ConditionMeasuring  Condition = "measuring"
	ConditionOrphaned   Condition = "orphaned"
)

// Status is a summary of a lab.
type Status struct {
	Name      string    `json:"name"`
	Prefix    string    `json:"prefix"`
	Condition Condition `json:"condition"`
	// PID is the process that measures the lab, or did so and died; otherwise 0.
	PID   int `json:"pid,omitempty"`
	Nodes int `json:"nodes"`
	// DeadNodes are nodes whose first process has ended, though nobody has stopped them.
	DeadNodes []string `json:"dead_nodes"`
	// Ended says of each of these that it is dead and, as far as that is known, how its first process ended.
	Ended []string `json:"ended,omitempty"`
	// StoppedNodes are nodes that someone has stopped.
	StoppedNodes []string `json:"stopped_nodes,omitempty"`
	// Healthy is how many of the Checked nodes are healthy; those without health checks are not
	// counted.
	Healthy int `json:"healthy,omitempty"`
	Checked int `json:"checked,omitempty"`
	// Faults are what has died, dead nodes included, or is not as planned.
	Faults  []string  `json:"faults,omitempty"`
	Links   int       `json:"links"`
	Started time.Time `json:"started"`
}

// List lists the labs of this host by name.
func List() ([]Status, error) {
	entries, err := os.ReadDir(filepath.Join(state.Root(), "labs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, state.NeedRoot(err)
	}
	if err != nil {
		return nil, fmt.Errorf("list labs: %w", err)
	}
	var list []Status
	for _, entry := range entries {
		err := folder.Check(state.Of(entry.Name()).Place())
		switch {
		case errors.Is(err, fs.ErrPermission):
			return nil, state.NeedRoot(err)
		case errors.Is(err, fs.ErrNotExist), errors.As(err, new(*folder.ForeignError)):
			// Gone, or not a lab.
		default:
			list = append(list, statusOf(entry.Name()))
		}
	}
	return list, nil
}

func statusOf(name string) Status {
	s := state.Of(name)
	status := Status{Name: name, Condition: ConditionIncomplete, DeadNodes: []string{}}
	if info, err := os.Stat(s.Lock()); err == nil {
		status.Started = info.ModTime()
	}
	if j, err := journal.Read(s.Journal()); err == nil {
		status.Prefix = j.Header.Prefix
	}
	lab, unread := Open(name)
	if s.Finished() {
		status.Condition = ConditionUp
		if info, err := os.Stat(s.Settings()); err == nil {
			status.Started = info.ModTime()
		}
	}
	switch {
	case unread == nil:
		var endings proc.Endings
		status.Nodes, status.Links = len(lab.Plan().Nodes), len(lab.Plan().Links)
		for _, n := range lab.Plan().Nodes {
			switch {
			case lab.Stopped(n.Name):
				status.StoppedNodes = append(status.StoppedNodes, n.Name)
			case !lab.Alive(n.Name):
				status.DeadNodes = append(status.DeadNodes, n.Name)
				if fault := check.Node(lab.Lab, n, &endings); fault != nil {
					status.Ended = append(status.Ended, fault.Problem)
				}
			}
		}
		if status.Condition == ConditionUp {
			nodes, err := watch.Health(lab.Lab)
			for _, n := range nodes {
				if n.Health != nil {
					status.Checked++
				}
				if n.Health != nil && n.Status == health.Healthy && lab.Alive(n.Node) {
					status.Healthy++
				}
			}
			faults, unread := lab.allFaults()
			for _, fault := range faults {
				status.Faults = append(status.Faults, fault.Problem)
			}
			if err := errors.Join(err, unread); err != nil {
				status.Faults = append(status.Faults, "cannot read whether all is as planned: "+err.Error())
			}
		}
	case status.Condition == ConditionUp:
		status.Faults = append(status.Faults, unread.Error())
	}
	locked, err := flock.IsHeld(s.Lock())
	owner, unknown := state.FindOwner(s.Measured())
	if err = errors.Join(err, unknown); err != nil {
		status.Faults = append(status.Faults, "cannot read who works on the lab: "+err.Error())
	}
	switch {
	case locked && owner.Alive():
		status.Condition, status.PID = ConditionMeasuring, owner.PID
	case locked:
		status.Condition = ConditionChanging
	case owner.Dead():
		status.Condition, status.PID = ConditionOrphaned, owner.PID
	}
	return status
}
