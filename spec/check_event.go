package spec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/terminal"
)

// events checks the key events.
func (c *checker) events() {
	if len(c.e.Events) == 0 {
		return
	}
	if c.e.Traffic == nil {
		c.fail("events happen in trials with traffic, and the file has none", "", "add a 'traffic:' section, or remove events", "events")
		return
	}
	if !c.e.Method.Plain() {
		c.fail("events cannot be combined with a search method, which chooses how long its trials last", "", "remove events, or use method: {kind: sweep}", "events")
		return
	}
	lasts := c.e.Traffic.Warmup + c.e.Traffic.Duration
	free := map[string]Duration{} // when a link is up again
	for i, event := range c.e.Events {
		at := []string{"events", strconv.Itoa(i)}
		switch {
		case event.Node == "" && !event.Restart:
			c.cut(event, at)
		case event.Link != "" || event.Down != 0:
			c.fail("an event has either a link or a node, not both", "", "write two events", at...)
		default:
			c.restarted(event, at)
		}
		if end := event.At + event.Down; end > lasts {
			c.fail(fmt.Sprintf("the event ends at %v, after the trial's warm-up and duration (%v)", end, lasts), "", "make it earlier or shorter, or the trial longer", under(at, "at")...)
		}
		if event.Link == "" {
			continue
		}
		if until, before := free[event.Link]; before && event.At < until {
			c.fail(fmt.Sprintf("the link %q is still down then, until %v", event.Link, until), "", "list a link's events in their order, one after the other", under(at, "at")...)
		}
		free[event.Link] = event.At + event.Down
	}
}

// cut checks an event of a link.
func (c *checker) cut(event *Event, at []string) {
	var names []string
	for _, link := range c.e.Topology.Links {
		names = append(names, link.Name)
	}
	i := slices.Index(names, event.Link)
	switch {
	case event.Link == "":
		c.fail("the event has no action", "", "write link: NAME and down: TIME, or node: NAME and restart: true", at...)
		return
	case i < 0:
		c.fail(fmt.Sprintf("link %q does not exist", clip(event.Link)), terminal.Listed(names), terminal.DidYouMean(event.Link, names), under(at, "link")...)
		return
	}
	link := c.e.Topology.Links[i]
	d := link.Kind.Descriptor()
	program := d.ProgramOf(link.Impaired())
	switch {
	case !d.CanBeCut():
		c.fail(fmt.Sprintf("a %s link cannot be taken down: nines has nothing at its ends or between them that could drop its packets", link.Kind),
			"links of kind "+listedKinds((*LinkDescriptor).CanBeCut), "use kind: switch, xdp or bridge", under(at, "link")...)
	case d.CutAtEnds():
		c.droppedAtEnds(link, under(at, "link"))
	case program == nil || !program.IsEngine:
		c.withoutCarrier(link, under(at, "link"))
	}
	if event.Down == 0 {
		c.fail("the event has no duration", "", "write down: TIME, such as 200ms", at...)
	}
}

// restarted checks an event of a node.
func (c *checker) restarted(event *Event, at []string) {
	names := slices.Sorted(maps.Keys(c.e.Topology.Nodes))
	node := c.e.Topology.Nodes[event.Node]
	switch {
	case event.Node == "":
		c.fail("the event names no node to restart", terminal.Listed(names), "write node: NAME", at...)
		return
	case node == nil:
		c.fail(fmt.Sprintf("node %q does not exist", clip(event.Node)), terminal.Listed(names), terminal.DidYouMean(event.Node, names), under(at, "node")...)
		return
	case !event.Restart:
		c.fail("the event has no action for the node", "", "write restart: true", at...)
	}
	if d := node.Runtime.Descriptor(); !d.Restarts() {
		c.fail(fmt.Sprintf("a node of runtime %s cannot be restarted", d.Name), "nodes with runtime: "+strings.Join(runtimesThatTake("restart"), ", "), "remove the event, or use another runtime", under(at, "node")...)
	}
	for _, endpoint := range []string{c.e.Traffic.From, c.e.Traffic.To} {
		if name, _, _ := strings.Cut(endpoint, ":"); name == event.Node {
			c.fail(fmt.Sprintf("node %q sends or receives the trial's packets, so a restart would end the trial", event.Node),
				"the nodes in between", "restart another node, or remove the event", under(at, "node")...)
			return
		}
	}
}

// withoutCarrier refuses engines that do not lose packets on a link without a carrier, but keep them:
// the failure would show in the latency of what was sent long after it was due, and not as loss.
func (c *checker) withoutCarrier(link *Link, at []string) {
	for _, endpoint := range link.Endpoints {
		if backend := c.engineAt(endpoint); backend != "" && backend != BackendUDP {
			c.fail(fmt.Sprintf("with the backend %s the engine at %q keeps its packets while the link has no carrier, so no packet would be lost", backend, endpoint),
				"the backend udp", "use it (backend: udp), or kind: switch, whose ports keep their carrier", at...)
		}
	}
}

// droppedAtEnds refuses ends at which no program can drop what they receive: inside a virtual machine,
// and where AF_XDP has a program of its own, beside which the kernel takes no second one.
func (c *checker) droppedAtEnds(link *Link, at []string) {
	for _, endpoint := range link.Endpoints {
		name, _ := splitEndpoint(endpoint)
		if n := c.e.Topology.Nodes[name]; n != nil && n.Runtime.Descriptor().Guest {
			c.fail(fmt.Sprintf("%q is in a virtual machine, and nines cannot reach into it to take down the end of a %s link", endpoint, link.Kind), "",
				"use kind: switch, xdp or bridge, which are taken down between the ends", at...)
		}
		backend := c.engineAt(endpoint)
		if backend == BackendDPDK && c.e.DPDK != nil && c.e.DPDK.Driver == DriverAFXDP {
			backend += " and the driver " + Backend(DriverAFXDP)
		} else if backend != BackendXDP {
			continue
		}
		c.fail(fmt.Sprintf("the engine at %q has its own XDP program there (backend %s), so that none can drop the packets of the link", endpoint, backend),
			"the backends udp, raw and ring, and dpdk with the driver af_packet", "use one of them, or kind: switch", at...)
	}
}
