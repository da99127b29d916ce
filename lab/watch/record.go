package watch

import (
	"time"

	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/health"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
)

// NodeHealth is what the lab's watcher says of a node that it watches.
type NodeHealth struct {
	Node string `json:"node"`
	// Health is the verdict of its checks; nil for a node without checks.
	*health.Health `json:",omitempty"`
	// PID is the first process that it is about.
	PID int `json:"pid"`
	// Restarts is how often the watcher has started the node again; Last is when it did so last, and
	// Why is the reason.
	Restarts int       `json:"restarts"`
	Last     time.Time `json:"last,omitzero"`
	Why      string    `json:"why,omitempty"`
	// Failed is why the watcher could not start the node the last time that it tried; empty if it
	// could.
	Failed string `json:"failed,omitempty"`
}

// Health is what the lab's watcher says of the nodes that the plan lets it watch, in the plan's order.
// What it has said of an earlier start of a node counts no more: such a node is starting.
func Health(l *running.Lab) ([]NodeHealth, error) {
	if !l.Plan().Watched() {
		return nil, nil
	}
	said, err := readHealth(l.State())
	if err != nil {
		return nil, err
	}
	var list []NodeHealth
	for _, n := range l.Plan().Nodes {
		if !n.Watched() {
			continue
		}
		h, has := said[n.Name]
		if !has {
			h = NodeHealth{Node: n.Name}
		}
		switch {
		case n.Healthcheck == nil:
			h.Health = nil
		case h.Health == nil || h.PID != l.PID(n.Name):
			h.Health = &health.Health{Status: health.Starting}
		}
		list = append(list, h)
	}
	return list, nil
}

func readHealth(s state.Folder) (map[string]NodeHealth, error) {
	return replace.ReadIfThere[map[string]NodeHealth](s.Health())
}
