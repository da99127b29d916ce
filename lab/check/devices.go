package check

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// deviceCheck compares the devices, routes and sysctls of a lab with its plan.
type deviceCheck struct {
	*running.Lab
	// explained are parts whose differences another fault explains.
	explained map[string]bool
	// cut are links that are down deliberately just now.
	cut map[string]bool
	// remade are links that a fault in a node remakes.
	remade map[string]bool
	// set are the values that were set on devices.
	set      map[settingOf]map[string]string
	faults   []Fault
	failures []error
}

// Devices finds interfaces, links and nodes whose devices, routes and sysctls are not as planned,
// unless one of the faults explains it.
func Devices(l *running.Lab, others []Fault) ([]Fault, error) {
	c := deviceCheck{Lab: l, explained: map[string]bool{}, set: setOn(l), remade: map[string]bool{}}
	for _, f := range others {
		c.explained[f.Part] = c.explained[f.Part] || f.takesAll()
	}
	if c.explained["fabric"] {
		return nil, nil
	}
	for _, planned := range l.Plan().Links {
		for _, e := range planned.Endpoints {
			// With a node goes its end of a pair, and with that the other.
			// A virtual machine that is stopped takes the carrier of the taps.
			off := e.Guest && !l.Alive(e.Node)
			c.explained["link "+planned.Name] = c.explained["link "+planned.Name] || c.explained["node "+e.Node] || off
		}
	}
	var err error
	if c.cut, err = cutLinks(l); err != nil {
		return nil, err
	}
	for _, n := range l.Plan().Nodes {
		// Inside a guest only its agent sees, which answers in its own time; a pod is on a cluster.
		if !c.explained["node "+n.Name] && !n.Apart() {
			c.node(n)
		}
	}
	c.hostEnd()
	if fabricGone := c.fabric(); fabricGone {
		return []Fault{DeadFabric(l)}, errors.Join(c.failures...) // just now
	}
	return c.faults, errors.Join(c.failures...)
}

// hostEnd compares the host's end of the management network. With it goes the fabric's.
func (c *deviceCheck) hostEnd() {
	if c.Plan().Management == nil || c.explained["link "+c.Plan().Management.Link] {
		return
	}
	fault, unseen := hostEndFault(c.Lab)
	c.fail(unseen)
	if fault != nil {
		c.faults = append(c.faults, *fault)
		c.explained[fault.Part] = true
	}
}

func (c *deviceCheck) fail(err error) {
	if err != nil {
		c.failures = append(c.failures, err)
	}
}

// node compares what is in a node's namespaces.
func (c *deviceCheck) node(n plan.Node) {
	view, err := link.Look(link.HolderOf(c.Running(n.Name)))
	if proc.IsGone(err) {
		c.faults = append(c.faults, deadNode(n)) // just now
		return
	}
	if err != nil {
		c.fail(fmt.Errorf("node %s: %w", n.Name, err))
		return
	}
	before := len(c.faults)
	for _, i := range n.Interfaces {
		if i.InKernel() && !c.explained["link "+i.Link] {
			c.iface(n, i, view)
		}
	}
	if len(c.faults) > before {
		return // with an interface go its routes and sysctls
	}
	var problems []string
	for _, r := range view.LostRoutes(n.Routes) {
		if !c.routeExplained(n, r) {
			problems = append(problems, "has lost its route to "+routeText(r))
		}
	}
	for _, address := range without(n.Loopback, view.Loopback()) {
		problems = append(problems, "has lost "+address+" of its loopback")
	}
	changed, err := changedSysctls(c.Lab, n)
	if proc.IsGone(err) {
		c.faults = append(c.faults, deadNode(n)) // just now
		return
	}
	c.fail(err)
	problems = append(append(problems, changed...), foreign(n, view)...)
	more, err := c.added(n, view)
	c.fail(err)
	if len(more) > 0 {
		c.faults = append(c.faults, Fault{
			Of: n.Name, Part: "node " + n.Name, Problem: "node " + n.Name + " " + strings.Join(append(problems, more...), ", "), Remedy: RemakeNode, Target: n.Name,
		})
		return
	}
	if len(problems) > 0 {
		c.faults = append(c.faults, Fault{
			Of: n.Name, Part: "node " + n.Name, Problem: "node " + n.Name + " " + strings.Join(problems, ", "), Remedy: AdjustNode, Target: n.Name,
		})
	}
}

// routeExplained is true for a route that went with a link which is at fault, or down deliberately.
func (c *deviceCheck) routeExplained(n plan.Node, r spec.Route) bool {
	return slices.ContainsFunc(n.Interfaces, func(i plan.Interface) bool {
		return (r.Interface == "" || r.Interface == i.Name) && (c.explained["link "+i.Link] || c.cut[i.Link])
	})
}

func routeText(r spec.Route) string {
	text := r.To
	if r.Via != "" {
		text += " via " + r.Via
	}
	if r.Interface != "" {
		text += " dev " + r.Interface
	}
	return text
}

// iface compares an interface of a node.
func (c *deviceCheck) iface(n plan.Node, i plan.Interface, view *link.View) {
	of := n.Name + ":" + i.Name
	planned, e := c.Index().EndOf(n.Name, i.Name)
	// Of an end that is up and has no carrier, the check of its other end says why.
	device, elsewhere := view.Find(i.Name), hardware(c.Lab, i.Link) || e.FabricDevice != "" || planned != nil && planned.Kind.Descriptor().End == spec.EndMacvlan
	problem, remedy := compareDevice(i, device, elsewhere && device != nil && device.Up, ChangesItself(n) && i.Link != spec.ManagementLink)
	if problem == "" && planned != nil {
		problem, remedy = c.deeper(n, i, *planned, e, view)
	}
	if problem == "" && Settled(n) {
		if address := foreignAddress(i, device, followsRouters(n)); address != "" {
			problem, remedy = "has the address "+address+", and the file does not list it", Reconfigure
		}
	}
	if problem == "" {
		return
	}
	target := of
	if remedy == RemakeLink {
		target = i.Link
	}
	c.faults = append(c.faults, Fault{
		Of: of, Part: "interface " + of, Problem: "interface " + of + " " + problem, Remedy: remedy, Target: target,
	})
}

// deeper compares what an interface has besides its state, MTU and addresses.
func (c *deviceCheck) deeper(n plan.Node, i plan.Interface, l plan.Link, e plan.Endpoint, view *link.View) (string, Remedy) {
	device := view.Find(i.Name)
	i.Neighbours = c.certain(i)
	want := link.End{
		Interface: &i, Free: ChangesItself(n), XDP: i.Device != nil || c.cut[l.Name], Macvlan: l.Kind.Descriptor().End == spec.EndMacvlan, OwnIPv6: setsIPv6(n),
	}
	if what := l.ImpairmentOf(e); what != nil && what.By == spec.ImpairByNetem {
		want.Impaired = &what.Impairment
	}
	if !slices.ContainsFunc(l.Endpoints, func(e plan.Endpoint) bool { return e.Guest }) {
		want.Set = c.set[settingOf{n.Name, l.Name, i.Name}]
	}
	var problems []string
	mend := Reconfigure
	for _, d := range device.Differences(want) {
		problems = append(problems, d.Problem)
		if d.Repair == link.RepairDevice {
			mend = RemakeLink
		}
	}
	if !c.cut[l.Name] {
		for _, network := range view.LostNetworks(i, n.Routes) {
			problems, mend = append(problems, "has lost the route to its network "+network), RemakeLink
		}
		if l.Parent != "" && (device.State == stateDown || device.State == stateLowerDown) {
			problems, mend = append(problems, "has no carrier: its parent "+l.Parent+" is down"), RemakeLink
		}
	}
	return strings.Join(problems, ", "), mend
}

// certain are the neighbours of an interface whose addresses nobody but nines sets.
func (c *deviceCheck) certain(i plan.Interface) []plan.Neighbour {
	return slices.DeleteFunc(slices.Clone(i.Neighbours), func(neighbour plan.Neighbour) bool {
		return slices.ContainsFunc(c.Plan().Nodes, func(n plan.Node) bool {
			return ChangesItself(n) && slices.ContainsFunc(n.Interfaces, func(other plan.Interface) bool { return other.Link == i.Link && other.MAC == neighbour.MAC })
		})
	})
}

// ChangesItself is true for a node in which the experiment's own commands, scripts or programs may set
// what they need on its interfaces: there only what nines set itself is compared.
func ChangesItself(n plan.Node) bool {
	return len(n.Exec) > 0 || len(n.Services) > 0 || n.Scripts.Any() || n.OCI != nil || n.App.Handling().IsDevice()
}

// setsIPv6 is true for a node whose file turns IPv6 on or off itself.
func setsIPv6(n plan.Node) bool {
	for name := range n.Sysctls {
		if strings.HasSuffix(name, "disable_ipv6") {
			return true
		}
	}
	return false
}

// settingOf is a device that was set up.
type settingOf struct{ node, link, device string }

// setOn is what was recorded of the devices when they were set up.
func setOn(l *running.Lab) map[settingOf]map[string]string {
	set := map[settingOf]map[string]string{}
	for _, s := range slices.Backward(l.Settings()) { // the first of a device counts
		set[settingOf{s.Node, s.Link, s.Device}] = s.Values
	}
	return set
}

// hardware is true for a link of network cards, whose state is also that of a cable.
func hardware(l *running.Lab, linkName string) bool {
	planned := l.Index().Link(linkName)
	return planned != nil && planned.Kind.Descriptor().End.IsHardware()
}

// States of a device, as the kernel says them: set down, and without a carrier.
const (
	stateDown      = "down"
	stateLowerDown = "lower-layer-down"
)

// compareDevice says how a node's interface differs from its plan, and what helps; nothing if it does
// not differ. elsewhere is true where why it has no carrier is found elsewhere, as with a cable; readdresses where the
// experiment itself may set addresses, which are read before each trial. It is pure.
func compareDevice(planned plan.Interface, now *link.Seen, elsewhere, readdresses bool) (string, Remedy) {
	if now == nil {
		return "is gone", RemakeLink
	}
	switch {
	case now.State == stateDown && !elsewhere:
		return "is down", Reconfigure
	case planned.MTU != 0 && now.MTU != planned.MTU:
		return fmt.Sprintf("has an MTU of %d, and %d is planned", now.MTU, planned.MTU), RemakeLink
	case readdresses:
		return "", 0
	case planned.MAC != "" && !strings.EqualFold(now.MAC, planned.MAC):
		return fmt.Sprintf("has the MAC address %s, and %s is planned", now.MAC, planned.MAC), RemakeLink
	}
	if lost := lostAddress(planned, now); lost != "" {
		return fmt.Sprintf("has lost its address %s", lost), Reconfigure
	}
	return "", 0
}

// lostAddress is the first of the planned addresses that a device does not have; empty if it has all.
func lostAddress(planned plan.Interface, now *link.Seen) string {
	for _, address := range planned.Addresses {
		if !slices.ContainsFunc(now.Addresses, func(has string) bool { return samePrefix(has, address) }) {
			return address
		}
	}
	return ""
}

func linkLocal(prefix string) bool {
	p, err := netip.ParsePrefix(prefix)
	return err == nil && p.Addr().IsLinkLocalUnicast()
}

func samePrefix(a, b string) bool {
	left, errLeft := netip.ParsePrefix(a)
	right, errRight := netip.ParsePrefix(b)
	return errLeft == nil && errRight == nil && left == right
}
