package change

import (
	"slices"
	"strings"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// restart adds nodes that are started again. All that runs in them starts with them.
func (c *Changes) restart(to *plan.Plan, nodes []string) {
	if len(nodes) == 0 {
		return
	}
	c.RestartedNodes = append(c.RestartedNodes, nodes...)
	restarted := Set(nodes)
	c.leaveStopped(restarted)
	received := addTo(&c.Received)
	for _, n := range ReceivedAgain(to, nodes) {
		received.add(n, !restarted[n])
	}
	// A disturbance that stops an engine knows its process.
	c.Disturbances = c.Disturbances || len(to.Disturbances) > 0
}

// leaveStopped leaves out what is not there while nodes are stopped, and is made when they start.
func (c *Changes) leaveStopped(nodes map[string]bool) {
	leaveOut(nodes, &c.RestartedApps, &c.Received, &c.Logins)
	c.RestartedServices = slices.DeleteFunc(c.RestartedServices, func(s string) bool {
		node, _, _ := strings.Cut(s, ":")
		return nodes[node]
	})
}

// ReceivedAgain are the nodes whose receive modes are set up again when nodes are started: their own,
// and with isolation all, as it moves the kernel's threads when nodes start. It is pure.
func ReceivedAgain(p *plan.Plan, started []string) []string {
	var names []string
	starts := Set(started)
	for _, n := range p.Nodes {
		if n.Receive != nil && (starts[n.Name] || p.Isolation == spec.IsolationIsolated) {
			names = append(names, n.Name)
		}
	}
	return names
}
