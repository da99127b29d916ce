package scheduler

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nines.dev/nines/cluster/nodefit"
)

// store has the newest figures of each node. It is safe for concurrent use.
type store struct {
	lock  sync.RWMutex
	nodes map[string]*measured
	// seen has the same, and nil for nothing, by the scheduler's copies of nodes since a time. Nobody else has looked
	// at most nodes' names for long when a pod is to be scored: reading one, and comparing it with the name in a map,
	// waits for memory four times.
	seen      map[*corev1.Node]*measured
	seenSince time.Time
}

// seenFor is how long the copies are kept: the kubelet's reports make a new one each five minutes
// (nodeStatusReportFrequency).
const seenFor = 5 * time.Minute

// measured has what is known of a node, and remembers what follows from it. Filter and Score ask some million times
// while a large cluster fills, mostly the same.
type measured struct {
	known atomic.Pointer[knowledge]
}

// knowledge is a node's figures, and what follows from them for the time, in µs of Unix time, in which it does not
// change. Nobody changes it.
type knowledge struct {
	figures     []nodefit.Figure
	from, until int64
	fastest     time.Duration
	verdicts    []*verdict // the newest last
}

// mostVerdicts bounds how many requests a node's answers are remembered of.
const mostVerdicts = 16

func newStore() *store {
	return &store{nodes: map[string]*measured{}, seen: map[*corev1.Node]*measured{}}
}

// set replaces the figures of a node, and returns those from before.
func (s *store) set(node string, figures []nodefit.Figure) (before []nodefit.Figure) {
	s.lock.Lock()
	defer s.lock.Unlock()
	m := s.nodes[node]
	if m != nil {
		before = m.known.Load().figures
	}
	switch {
	case m != nil && len(figures) > 0:
		m.known.Store(unasked(figures))
	case m != nil:
		delete(s.nodes, node)
		clear(s.seen)
	case len(figures) > 0:
		m = &measured{}
		m.known.Store(unasked(figures))
		s.nodes[node] = m
		clear(s.seen) // which may have nothing for it
	}
	return before
}

// unasked are figures of which nothing is known at any time.
func unasked(figures []nodefit.Figure) *knowledge {
	return &knowledge{figures: figures, from: 1, until: 0}
}

// of returns the figures of a node. Nobody changes them.
func (s *store) of(node string) []nodefit.Figure {
	s.lock.RLock()
	defer s.lock.RUnlock()
	if m := s.nodes[node]; m != nil {
		return m.known.Load().figures
	}
	return nil
}

// measuredAt returns what is measured at a node; nil for nothing.
func (s *store) measuredAt(node *corev1.Node, now time.Time) *measured {
	s.lock.RLock()
	m, seen := s.seen[node]
	s.lock.RUnlock()
	if seen {
		return m
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if age := now.Sub(s.seenSince); age > seenFor || age < 0 {
		clear(s.seen)
		s.seenSince = now
	}
	m = s.nodes[node.Name]
	s.seen[node] = m
	return m
}

// fastest is how fast a node can be now; 0 if that is not known.
func (s *store) fastest(node *corev1.Node, now time.Time) time.Duration {
	if m := s.measuredAt(node, now); m != nil {
		return m.at(now).fastest
	}
	return 0
}

// empty reports whether nothing is measured anywhere.
func (s *store) empty() bool {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return len(s.nodes) == 0
}

// at is what is known at a time.
func (m *measured) at(now time.Time) *knowledge {
	at := now.UnixMicro()
	k := m.known.Load()
	if k.from <= at && at < k.until {
		return k
	}
	fastest, until := nodefit.Best(k.figures, now)
	// A clock that is set back asks again.
	next := &knowledge{figures: k.figures, from: at, until: until.UnixMicro(), fastest: fastest}
	m.known.CompareAndSwap(k, next) // unless there are newer figures
	return next
}

// verdict is what is remembered of a latency request; nil for nothing.
func (k *knowledge) verdict(request string) *verdict {
	for _, v := range k.verdicts {
		if v.request == request {
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
