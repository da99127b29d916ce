package lab

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"nines.dev/nines/plan"
)

// restartLog is what this process has restarted, stopped and started in a lab.
type restartLog struct {
	// changing lets one change of nodes follow the other: all write the same journal.
	changing sync.Mutex

	mu   sync.Mutex
	made []Restarted
}

// Restarted is a node that was restarted, stopped or started.
type Restarted struct {
	Node string
	// How is "restarted", "stopped" or "started".
	How string
	// At is when it began, and Took how long it took.
	At   time.Time
	Took time.Duration
	// Why is the reason; empty: somebody asked for it.
	Why string
}

// String says it in one line, for the reasons of a trial.
func (r Restarted) String() string {
	text := fmt.Sprintf("node %s was %s at %s, which took %s", r.Node, r.How, r.At.Format("15:04:05.000"), r.Took.Round(time.Millisecond))
	if r.Why != "" {
		text += ": " + r.Why
	}
	return text
}

func (l *restartLog) note(nodes []plan.Node, how string, begun time.Time, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range nodes {
		l.made = append(l.made, Restarted{Node: n.Name, How: how, At: begun, Took: time.Since(begun), Why: why})
	}
}

// TakeRestarts returns the nodes that this process has restarted, stopped or started since the last
// call: a trial beside which that happened did not measure what the file describes.
func (l *Lab) TakeRestarts() []Restarted {
	if l.restarts == nil {
		return nil
	}
	l.restarts.mu.Lock()
	defer l.restarts.mu.Unlock()
	made := slices.Clone(l.restarts.made)
	l.restarts.made = nil
	return made
}
