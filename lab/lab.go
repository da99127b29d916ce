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
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/health"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// Lab is a lab that is up. Any number of processes may inspect a lab and run commands in it,
// without a lock.
type Lab struct {
	name     string
	state    state.Folder
	plan     *plan.Plan
	settings []link.Setting
	running  *roster
	fabric   *node.Running
	restarts *restartLog
	// watching watches the nodes of a lab that this process measures; nil without any to watch.
	watching *watching
	// door lets others change nodes of a lab that this process measures.
	door *door
	// held is the lab's lock and journal while this process measures it; otherwise nil.
	held *holding
}

// Open finds a lab by its name.
func Open(name string) (*Lab, error) {
	if err := state.CheckName(name); err != nil {
		return nil, err
	}
	s := state.Of(name)
	if err := folder.Check(s.Place()); err != nil {
		return nil, explainUnseen(err, name)
	}
	j, err := journal.Read(s.Journal())
	if errors.Is(err, journal.ErrEmpty) {
		return nil, &state.NotFoundError{Name: name}
	}
	if err != nil {
		return nil, explainUnseen(err, name)
	}
	p, err := s.ReadPlan()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("lab %q was not finished: %w; nines down %s removes it", name, err, name)
	}
	if err != nil {
		return nil, fmt.Errorf("lab %q: %w; use the version that made it, or remove it with nines down %s", name, err, name)
	}
	l := &Lab{name: name, state: s, plan: p, restarts: &restartLog{}}
	l.take(j)
	if err := l.readSettings(); err != nil {
		return nil, err
	}
	return l, nil
}

// take finds the nodes' processes in the journal.
func (l *Lab) take(j *journal.Journal) {
	found := node.Find(j)
	if r := found[fabricNode]; r != nil {
		l.fabric = r
		delete(found, fabricNode)
	}
	l.running = newRoster(found)
}

func (l *Lab) readSettings() (err error) {
	l.settings, err = replace.ReadIfThere[[]link.Setting](l.state.Settings())
	return err
}

// Name is the lab's name.
func (l *Lab) Name() string { return l.name }

// Plan is the plan that the lab follows.
func (l *Lab) Plan() *plan.Plan { return l.plan }

// Settings lists what was set on the lab's devices, so that a result can record its conditions.
func (l *Lab) Settings() []link.Setting { return l.settings }

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
		status.Nodes, status.Links = len(lab.plan.Nodes), len(lab.plan.Links)
		for _, n := range lab.plan.Nodes {
			switch {
			case lab.Stopped(n.Name):
				status.StoppedNodes = append(status.StoppedNodes, n.Name)
			case !lab.Alive(n.Name):
				status.DeadNodes = append(status.DeadNodes, n.Name)
			}
		}
		if status.Condition == ConditionUp {
			nodes, err := lab.Health()
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
	owner, unknown := findOwner(s.Measured())
	if err = errors.Join(err, unknown); err != nil {
		status.Faults = append(status.Faults, "cannot read who works on the lab: "+err.Error())
	}
	switch {
	case locked && owner.alive():
		status.Condition, status.PID = ConditionMeasuring, owner.PID
	case locked:
		status.Condition = ConditionChanging
	case owner.dead():
		status.Condition, status.PID = ConditionOrphaned, owner.PID
	}
	return status
}

// Finished is true once all of the lab has been made.
func (l *Lab) Finished() bool { return l.state.Finished() }

// Alive is true while a node runs.
func (l *Lab) Alive(nodeName string) bool {
	n, r, err := l.node(nodeName)
	return err == nil && node.RuntimeOf(n).Alive(r)
}

// Stopped is true for a node that someone has stopped.
func (l *Lab) Stopped(nodeName string) bool {
	_, r, err := l.node(nodeName)
	return err == nil && r.Stopped && !r.Alive()
}
