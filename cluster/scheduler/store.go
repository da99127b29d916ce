package scheduler

import (
	"sync"

	"nines.dev/nines/cluster/figure"
)

// store has the newest figures of each node. It is safe for concurrent use.
type store struct {
	lock  sync.RWMutex
	nodes map[string][]figure.Figure
}

func newStore() *store { return &store{nodes: map[string][]figure.Figure{}} }

// set replaces the figures of a node, and returns those from before.
func (s *store) set(node string, figures []figure.Figure) (before []figure.Figure) {
	s.lock.Lock()
	defer s.lock.Unlock()
	before = s.nodes[node]
	if len(figures) == 0 {
		delete(s.nodes, node)
	} else {
		s.nodes[node] = figures
	}
	return before
}

// of returns the figures of a node. Nobody changes them.
func (s *store) of(node string) []figure.Figure {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return s.nodes[node]
}

// empty tells whether nothing is measured anywhere.
func (s *store) empty() bool {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return len(s.nodes) == 0
}
