package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
)

// checkManagement checks that the host has what a management network needs.
func checkManagement(p *plan.Plan) error {
	m := p.Management
	if m == nil {
		return nil
	}
	if m.Server != "" {
		if _, err := link.FindNameServer(); err != nil {
			return err
		}
	}
	return errors.Join(checkAccess(p), link.CheckManagement(m))
}

// managedAlike is true if another lab's management network overlaps that of a plan. That lab may not
// have got as far as a route.
func managedAlike(theirs, p *plan.Plan) bool {
	if theirs.Management == nil || p.Management == nil {
		return false
	}
	a, errA := netip.ParsePrefix(theirs.Management.Subnet)
	b, errB := netip.ParsePrefix(p.Management.Subnet)
	return errA == nil && errB == nil && a.Overlaps(b)
}

// writeNames writes what the nodes know of each other's names. A node that is there when another comes
// or goes learns of it; one in a virtual machine when it boots.
func (b *builder) writeNames(context.Context, work) error {
	place := b.place()
	for _, n := range b.plan.Nodes {
		if err := place.WriteNames(n); err != nil {
			return fmt.Errorf("write the names that node %q knows: %w", n.Name, err)
		}
	}
	return nil
}

// serveNames sees to it that the management network's server of names runs, and has this plan's names.
func (b *builder) serveNames(ctx context.Context, _ work) error {
	if b.plan.Management == nil || b.plan.Management.Server == "" {
		return nil
	}
	return b.site.ServeNames(ctx, *findLink(b.plan, b.plan.Management.Link))
}

// hostEndFault is what is wrong with the host's interface on the management network; nil if nothing is.
func (l *Lab) hostEndFault() (*Fault, error) {
	m := l.plan.Management
	if m == nil {
		return nil, nil
	}
	device, err := link.HostEnd(m)
	if err != nil {
		return nil, err
	}
	problem := ""
	switch {
	case device == nil:
		problem = "is gone"
	case device.State == stateDown:
		problem = "is down"
	case !slices.ContainsFunc(device.Addresses, func(has string) bool { return samePrefix(has, m.HostAddress()) }):
		problem = "has lost its address " + m.HostAddress()
	default:
		return nil, nil
	}
	return &Fault{
		Of: "link " + m.Link, Part: "link " + m.Link, Problem: fmt.Sprintf("this host's interface on the management network, %s, %s", m.Device, problem),
		remedy: remakeLink, target: m.Link,
	}, nil
}

// managementSteps are the steps of a management network besides those of any bridge.
func managementSteps(add func(string, ...any), p *plan.Plan) {
	m := p.Management
	add("link %s: veth pair %s in the fabric and %s on the host, with the address %s", m.Link, m.Port, m.Device, m.HostAddress())
	for _, n := range p.Nodes {
		if logsIn(p, n) {
			add("node %s: make its own key, and start an SSH server at %s, if it has one", n.Name, p.ManagementAddress(n.Name))
		}
	}
	if m.Server != "" {
		add("link %s: start dnsmasq in the fabric, with the address %s", m.Link, m.Server)
	}
}
