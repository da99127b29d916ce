package scheduler

import (
	"sync"
	"time"

	"nines.dev/nines/cluster/figure"
)

// store has the newest figures of each node. It is safe for concurrent use.
type store struct {
	lock  sync.RWMutex
	nodes map[string]measuredNode
}

// measuredNode is what the store has of a node. How fast it can be is asked for each pod without a
// wish and each node, some million times while a large cluster fills: it is computed once for the
// time in which it does not change.
type measuredNode struct {
	figures     []figure.Figure
	fastest     time.Duration
	from, until time.Time
}

func newStore() *store { return &store{nodes: map[string]measuredNode{}} }

// set replaces the figures of a node, and returns those from before.
func (s *store) set(node string, figures []figure.Figure) (before []figure.Figure) {
	s.lock.Lock()
	defer s.lock.Unlock()
	before = s.nodes[node].figures
	if len(figures) == 0 {
		delete(s.nodes, node)
	} else {
		s.nodes[node] = measuredNode{figures: figures}
	}
	return before
}

// of returns the figures of a node. Nobody changes them.
func (s *store) of(node string) []figure.Figure {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return s.nodes[node].figures
}

// fastest is how fast a node can be now; 0 if that is not known.
func (s *store) fastest(node string, now time.Time) time.Duration {
	s.lock.RLock()
	known, found := s.nodes[node]
	s.lock.RUnlock()
	if !found || now.Before(known.until) && !now.Before(known.from) {
		return known.fastest
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if known, found = s.nodes[node]; !found {
		return 0
	}
	known.fastest, known.until = figure.Best(known.figures, now)
	known.from = now // a clock that is set back asks again
	s.nodes[node] = known
	return known.fastest
}

// empty tells whether nothing is measured anywhere.
func (s *store) empty() bool {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return len(s.nodes) == 0
}
