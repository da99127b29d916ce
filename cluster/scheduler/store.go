package scheduler

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"nines.dev/nines/cluster/figure"
)

// store has the newest figures of each node. It is safe for concurrent use.
type store struct {
	lock  sync.RWMutex
	nodes map[string]*measured
}

// measured has a node's figures, which nobody changes, and remembers what follows from them. Filter and Score ask some
// million times while a large cluster fills, mostly the same.
type measured struct {
	figures []figure.Figure
	known   atomic.Pointer[knowledge]
}

// knowledge follows from a node's figures for the time, in µs of Unix time, in which it does not change. Nobody
// changes it.
type knowledge struct {
	from, until int64
	fastest     time.Duration
	verdicts    []*verdict // the newest last
}

// mostVerdicts bounds how many wishes a node's answers are remembered of.
const mostVerdicts = 16

func newStore() *store { return &store{nodes: map[string]*measured{}} }

// set replaces the figures of a node, and returns those from before.
func (s *store) set(node string, figures []figure.Figure) (before []figure.Figure) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if old := s.nodes[node]; old != nil {
		before = old.figures
	}
	if len(figures) == 0 {
		delete(s.nodes, node)
	} else {
		s.nodes[node] = &measured{figures: figures}
	}
	return before
}

// node returns what is measured at a node; nil for nothing.
func (s *store) node(name string) *measured {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return s.nodes[name]
}

// of returns the figures of a node. Nobody changes them.
func (s *store) of(node string) []figure.Figure {
	if m := s.node(node); m != nil {
		return m.figures
	}
	return nil
}

// fastest is how fast a node can be now; 0 if that is not known.
func (s *store) fastest(node string, now time.Time) time.Duration {
	if m := s.node(node); m != nil {
		return m.at(now).fastest
	}
	return 0
}

// empty tells whether nothing is measured anywhere.
func (s *store) empty() bool {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return len(s.nodes) == 0
}

// at is what is known at a time.
func (m *measured) at(now time.Time) *knowledge {
	at := now.UnixMicro()
	if k := m.known.Load(); k != nil && k.from <= at && at < k.until {
		return k
	}
	fastest, until := figure.Best(m.figures, now)
	// A clock that is set back asks again.
	k := &knowledge{from: at, until: until.UnixMicro(), fastest: fastest}
	m.known.Store(k)
	return k
}

// verdict is what is remembered of a wish; nil for nothing.
func (k *knowledge) verdict(wish string) *verdict {
	for _, v := range k.verdicts {
		if v.wish == wish {
			return v
		}
	}
	return nil
}

// remember adds a verdict to what is known, if that is still the newest.
func (m *measured) remember(k *knowledge, v *verdict) {
	more := *k
	more.verdicts = append(slices.Clone(k.verdicts[max(0, len(k.verdicts)+1-mostVerdicts):]), v)
	m.known.CompareAndSwap(k, &more)
}
