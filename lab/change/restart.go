package change

import (
	"slices"
	"strings"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// restart adds a node that is started again. All that runs in it starts with it.
func (c *Changes) restart(to *plan.Plan, name string) {
	include(&c.RestartedNodes, name, true)
	c.leaveStopped(name)
	for _, n := range ReceivedAgain(to, c.RestartedNodes) {
		include(&c.Received, n, !slices.Contains(c.RestartedNodes, n))
	}
	// A disturbance that stops an engine knows its process.
	c.Disturbances = c.Disturbances || len(to.Disturbances) > 0
}

// leaveStopped leaves out what is not there while a node is stopped, and is made when it starts.
func (c *Changes) leaveStopped(name string) {
	for _, list := range []*[]string{&c.RestartedApps, &c.Received, &c.Logins} {
		*list = slices.DeleteFunc(*list, func(n string) bool { return n == name })
	}
	c.RestartedServices = slices.DeleteFunc(c.RestartedServices, func(s string) bool { return strings.HasPrefix(s, name+":") })
}

// ReceivedAgain are the nodes whose receive modes are set up again when nodes are started: their own,
// and with isolation all, as it moves the kernel's threads when nodes start. It is pure.
func ReceivedAgain(p *plan.Plan, started []string) []string {
	var names []string
	for _, n := range p.Nodes {
		if n.Receive != nil && (slices.Contains(started, n.Name) || p.Isolation == spec.IsolationIsolated) {
			names = append(names, n.Name)
		}
	}
	return names
}
