package running

import (
	"sync"

	"nines.dev/nines/lab/node"
)

// nodes is the nodes that have a process or a network. A measurement reads it while a node is
// restarted, so any goroutine may use it.
type nodes struct {
	mu     sync.RWMutex
	byName map[string]*node.Running
}

func newNodes(found map[string]*node.Running) *nodes {
	if found == nil {
		found = map[string]*node.Running{}
	}
	return &nodes{byName: found}
}

// of is the node with a name; nil if there is none.
func (r *nodes) of(name string) *node.Running {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byName[name]
}

// set puts a node in the place of the one with its name. What readers have of the old one stays as
// it is.
func (r *nodes) set(n *node.Running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byName[n.Name] = n
}

func (r *nodes) all() []*node.Running {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var list []*node.Running
	for _, n := range r.byName {
		list = append(list, n)
	}
	return list
}
