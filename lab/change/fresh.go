package change

import (
	"slices"
	"strings"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
)

// The network of a node belongs to the lab, and what runs in the node joins it. So a node in which only
// what runs is another is not rebuilt: it is ended, and starts afresh in its network.

// begins is true for a node that this change starts, in a network of its own or in the one that it had.
func (d *differ) begins(nodeName string) bool {
	return d.renewed[nodeName] || d.fresh[nodeName]
}

// keepsNetwork is true for a node that differs from the old one, if it can run in the network that that
// one has.
func (d *differ) keepsNetwork(old, n plan.Node) bool {
	switch {
	case !old.Runtime.Descriptor().Restarts() || !n.Runtime.Descriptor().Restarts():
		return false
	case old.Guest() != n.Guest(): // the ends of a machine's links are taps
		return false
	case old.HostName != n.HostName: // the name of the network
		return false
	case !plan.Same(old.Functions, n.Functions) || !plan.Same(old.Devices, n.Devices): // cards are prepared for their node
		return false
	case d.onCard(n) && !plan.Same(old.CPUs, n.CPUs): // and their interrupts are beside its CPUs
		return false
	case n.Guest(): // what else its network has is set from inside when it boots
		return sameEnds(old, n)
	}
	return !lost(ofNetwork(old.Sysctls), ofNetwork(n.Sysctls)) && routes(old) == routes(n)
}

// onCard is true for a node with a link of the host's network cards.
func (d *differ) onCard(n plan.Node) bool {
	return slices.ContainsFunc(n.Interfaces, func(i plan.Interface) bool {
		of := d.is.Link(i.Link)
		return of != nil && of.Kind.Descriptor().End.IsHardware()
	})
}

// ofNetwork are the sysctls of a network namespace.
func ofNetwork(sysctls map[string]string) map[string]string {
	list := map[string]string{}
	for name, value := range sysctls {
		if strings.HasPrefix(netns.SysctlPath(name), "/proc/sys/net/") {
			list[name] = value
		}
	}
	return list
}

// sameEnds is true for virtual machines that are connected to the same things, in the same order.
func sameEnds(old, n plan.Node) bool {
	type end struct {
		Name, Link, MAC string
		MTU             int
		Device          *plan.Device
	}
	ends := func(n plan.Node) (list []end) {
		for _, i := range n.Interfaces {
			list = append(list, end{i.Name, i.Link, i.MAC, i.MTU, i.Device})
		}
		return list
	}
	return plan.Same(ends(old), ends(n))
}

// listFresh lists the nodes that start afresh, and leaves out of the other lists what starts with them.
func (d *differ) listFresh() {
	for _, n := range d.to.Nodes {
		if d.fresh[n.Name] {
			d.FreshNodes = append(d.FreshNodes, n.Name)
		}
	}
	leaveOut(d.fresh, &d.Adjusted, &d.Logins, &d.Watched)
}
