package lab

import (
	"sync"

	"nines.dev/nines/lab/node"
)

// roster is the nodes that have a process or a network. A measurement reads it while a node is
// restarted, so any goroutine may use it.
type roster struct {
	mu    sync.RWMutex
	nodes map[string]*node.Running
}

func newRoster(found map[string]*node.Running) *roster {
	if found == nil {
		found = map[string]*node.Running{}
	}
	return &roster{nodes: found}
}

// of is the node with a name; nil if there is none.
func (r *roster) of(name string) *node.Running {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.nodes[name]
}

// set puts a node in the place of the one with its name. What readers have of the old one stays as
// it is.
func (r *roster) set(n *node.Running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes[n.Name] = n
}

func (r *roster) all() []*node.Running {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var list []*node.Running
	for _, n := range r.nodes {
		list = append(list, n)
	}
	return list
}
