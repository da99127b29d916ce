package plan

import (
	"fmt"
	"slices"

	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// serves is true for a node on the traffic's path in which the user's programs run: it wants a CPU that the
// generator does not use.
func (w *work) serves(n *node) bool {
	return len(n.spec.Services) > 0 && slices.ContainsFunc(w.path, func(e *endpoint) bool { return e.node == n })
}

// ownServiceCPUs is how many CPUs the node's services have for themselves.
func (n *node) ownServiceCPUs() int {
	count := 0
	for _, s := range n.spec.Services {
		count += s.CPUs
	}
	return count
}

// leastCPUs is how many CPUs the node needs for its services: those that they have for themselves, and one for its
// engine and for those that have none.
func (n *node) leastCPUs() int {
	count := n.ownServiceCPUs()
	if n.demand.engine || slices.ContainsFunc(n.spec.Services, func(s spec.Service) bool { return s.CPUs == 0 }) {
		count++
	}
	return count
}

// demandServices asks for the CPUs that a node's services have for themselves.
func (w *work) demandServices(n *node) {
	d := &n.demand
	own, least := n.ownServiceCPUs(), 0
	if own > 0 {
		least = n.leastCPUs()
	}
	switch {
	case own == 0:
		if d.count == 0 && w.serves(n) {
			d.count = 1
		}
	case !d.explicit:
		d.count, d.explicit = max(d.count, least), true
	case d.count < least:
		w.refuse(at(&Conflict{n.title(), fmt.Sprintf("it has %s, and its services and the rest of it need %d", terminal.Count(d.count, "CPU"), least),
			fmt.Sprintf("give it %d, or its services fewer", least)}, n.steps("cpus")))
	}
}

// divideServices divides the CPUs of nodes among their services: the last ones first, as the rest of the node, and
// systemd, run on the first.
func (w *work) divideServices() error {
	for _, n := range w.nodes {
		if n.ownServiceCPUs() == 0 || !n.exclusive {
			continue
		}
		free := slices.DeleteFunc(slices.Clone(n.cpus), func(id int) bool { return n.demand.engine && id == n.engineCPU })
		n.serviceCPUs = map[string][]int{}
		for _, s := range n.spec.Services {
			if s.CPUs > 0 {
				first := len(free) - s.CPUs
				n.serviceCPUs[s.Name], free = free[first:], free[:first]
				n.because("%s for service %s alone", cpuText(n.serviceCPUs[s.Name]), s.Name)
			}
		}
		if len(free) == 0 { // only the engine is left
			free = []int{n.engineCPU}
		}
		for _, s := range n.spec.Services {
			if s.CPUs == 0 {
				n.serviceCPUs[s.Name] = free
			}
		}
	}
	return nil
}

// noteServices says which services share CPUs with the ends of the traffic. The verdicts of trials say it again.
func (w *work) noteServices() error {
	if w.stream == nil || w.isolation() == spec.IsolationNone { // which has a note of its own
		return nil
	}
	for _, n := range w.nodes {
		if shared := w.sharedByServices(n); shared != "" {
			w.shared = append(w.shared, shared)
			w.note("%s.", shared)
		}
	}
	return nil
}

// sharedByServices says where a node's services run on the CPU of an end of the traffic; empty if they do not.
func (w *work) sharedByServices(n *node) string {
	if len(n.spec.Services) == 0 {
		return ""
	}
	for _, end := range []*node{w.path[0].node, w.path[len(w.path)-1].node} {
		on := slices.ContainsFunc(n.spec.Services, func(s spec.Service) bool {
			cpus, own := n.serviceCPUs[s.Name]
			if !own {
				cpus = n.cpus
			}
			return slices.Contains(cpus, end.engineCPU)
		})
		switch {
		case !on:
		case end == n:
			return fmt.Sprintf("the services of node %s may run on CPU %d beside its engine, which then waits for them; cpus: %d gives each its own", n.name, end.engineCPU, max(2, n.leastCPUs()))
		default:
			return fmt.Sprintf("too few CPUs: the services of node %s may run on CPU %d beside the traffic's end in node %s, which then waits for them", n.name, end.engineCPU, end.name)
		}
	}
	return ""
}

// noteRealTimeServices says which services run before everything else on CPUs that others need.
func (w *work) noteRealTimeServices(n *node) {
	for _, s := range n.spec.Services {
		policy := s.Scheduling
		if policy == nil {
			policy = n.spec.Scheduling
		}
		if policy != nil && policy.Policy.RealTime() && !n.exclusive {
			w.note("service %s of %s is scheduled as %s on %s, so it runs there before everything else; if it never sleeps, nothing else does.", s.Name, n.title(), policy, cpuText(n.cpus))
		}
	}
}
