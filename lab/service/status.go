package service

import (
	"path/filepath"
	"time"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
)

// Status is how far a service is.
type Status string

// A service is starting until it is ready, as its file says; one that says nothing is ready at once. One that has ended
// and starts again by its policy is restarting until then.
const (
	Starting   Status = "starting"
	Ready      Status = "ready"
	Restarting Status = "restarting"
	Ended      Status = "ended"
)

// Record is what a keeper writes of its service.
type Record struct {
	Status  Status    `json:"status"`
	Started time.Time `json:"started"`
	Since   time.Time `json:"since"`
	// Ends is how often it has ended by itself, and LastEnd when it last did.
	Ends    int       `json:"ends,omitempty"`
	LastEnd time.Time `json:"last_end,omitzero"`
	// Ending is how it last ended: "signal: killed", "exit status 3"; Said are the last lines of its output.
	Ending string `json:"ending,omitempty"`
	Said   string `json:"said,omitempty"`
	// Failed is why it could not be started, or when it was given up.
	Failed string `json:"failed,omitempty"`
}

// State is a service as it is now.
type State struct {
	Node string `json:"node"`
	Name string `json:"name"`
	// Keeper is the process that keeps it; 0 if there was none.
	Keeper int    `json:"keeper_pid"`
	Alive  bool   `json:"alive"`
	Log    string `json:"log"`
	Record
}

// mark begins the Name of a keeper's step in the journal.
const mark = "service "

func record(s state.Folder, node, name string) string {
	return filepath.Join(s.Services(), node, name+".json")
}

// Log is the file with a service's output; beside it, with ".before", is that of its start before.
func Log(s state.Folder, node, name string) string {
	return filepath.Join(s.Services(), node, name+".log")
}

// All are the services of a lab's plan that were started, in its order.
func All(l *running.Lab) ([]State, error) {
	if !l.Plan().HasServices() {
		return nil, nil
	}
	j, err := journal.Read(l.State().Journal())
	if err != nil {
		return nil, err
	}
	keepers := map[string]proc.Identity{}
	for _, e := range j.Entries() {
		if name := Of(e); name != "" && e.Learnt != nil {
			keepers[name] = process.Of(e)
		}
	}
	var all []State
	for _, n := range l.Plan().Nodes {
		for _, s := range n.Services {
			id, started := keepers[n.Name+":"+s.Name]
			if !started {
				continue
			}
			r, err := replace.ReadIfThere[Record](record(l.State(), n.Name, s.Name))
			if err != nil {
				return nil, err
			}
			all = append(all, State{Node: n.Name, Name: s.Name, Keeper: id.PID, Alive: id.Alive() && r.Status != Ended, Log: Log(l.State(), n.Name, s.Name), Record: r})
		}
	}
	return all, nil
}
