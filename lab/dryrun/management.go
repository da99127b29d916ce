package dryrun

import "nines.dev/nines/plan"

// managementSteps are the steps of a management network besides those of any bridge.
func managementSteps(add func(string, ...any), p *plan.Plan) {
	m := p.Management
	switch {
	case !m.Shared():
		add("link %s: veth pair %s in the fabric and %s on the host, with the address %s", m.Link, m.Port, m.Device, m.HostAddress())
	case m.Uplink.Bridge:
		add("link %s: veth pair %s in the fabric and %s on the host, a port of %s", m.Link, m.Port, m.Device, m.Uplink.Name)
	default:
		add("link %s: veth pair %s in the fabric and %s on the host", m.Link, m.Port, m.Device)
		add("link %s: clsact at %s, if it has none, and programs there that redirect the nodes' packets", m.Link, m.Uplink.Name)
		add("link %s: %s also receives for the MAC addresses of the nodes", m.Link, m.Uplink.Name)
	}
	for _, n := range p.Nodes {
		if p.LogsIn(n) {
			add("node %s: make its host key, and start an SSH server at %s, if it has one", n.Name, p.ManagementAddress(n))
		}
	}
	if m.Server != "" {
		add("link %s: start dnsmasq in the fabric, with the address %s", m.Link, m.Server)
	}
}
