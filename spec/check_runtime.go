package spec

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// inCase is the remedy for a key that only some of the runtimes in a sweep have.
const inCase = "if a sweep varies the runtime, write it in the case with that runtime"

// otherwise describes a node without one of these keys.
var otherwise = map[string]string{
	"vm":     "%s nodes are not virtual machines",
	"rootfs": "%s nodes share the host's file system",
}

// runtime refuses the keys of a node that its runtime does not take.
func (c *checker) runtime(n *Node, at []string) {
	d := n.Runtime.Descriptor()
	for _, f := range fields(reflect.TypeFor[Node]()) {
		value := reflect.ValueOf(*n).Field(f.index)
		if d.Takes(f.key) || value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0 || fmt.Sprint(value) == f.rule.byDefault {
			continue
		}
		refusal := d.Refusals[f.key]
		if refusal.Problem == "" {
			refusal.Problem = fmt.Sprintf(cmp.Or(otherwise[f.key], "%s nodes have no "+f.key), d.Name)
		}
		c.failKey(refusal.Problem, "on nodes with runtime: "+strings.Join(runtimesThatTake(f.key), ", "),
			cmp.Or(refusal.Remedy, "remove "+f.key)+"; "+inCase, under(at, f.key)...)
	}
	if d.Takes("memory") && n.Memory > 0 && n.Memory < d.LeastMemory {
		c.fail("too little memory for a guest's kernel and the engine", d.LeastMemory.String()+" or more", "", under(at, "memory")...)
	}
}

// isGuest is true for an endpoint of a virtual machine.
func (c *checker) isGuest(endpoint string) bool {
	name, _ := splitEndpoint(endpoint)
	n := c.e.Topology.Nodes[name]
	return n != nil && n.Runtime.Descriptor().Guest
}

// vmLinks refuses links that a virtual machine cannot join.
func (c *checker) vmLinks() {
	for i, link := range c.e.Topology.Links {
		at, d := under(linkSteps(i), "endpoints"), link.Kind.Descriptor()
		guests := 0
		for j, endpoint := range link.Endpoints {
			here := under(at, strconv.Itoa(j))
			if !c.isGuest(endpoint) {
				continue
			}
			guests++
			if d.Guest == GuestNone {
				c.fail(fmt.Sprintf("%q is in a virtual machine, which cannot join a %s link", endpoint, link.Kind), listedKinds(takesGuests), "choose one of these, or another runtime", here...)
			}
			if c.e.DPDK != nil && c.e.DPDK.Device[endpoint] != "" {
				c.failKey(fmt.Sprintf("%q is in a virtual machine, where DPDK opens the function that the guest has", endpoint), "", "remove it", "dpdk", "device", endpoint)
			}
		}
		if d.JoinsTaps(guests) {
			c.fail("both ends of a "+string(link.Kind)+" link are in virtual machines, whose tap devices need a link with a bridge or switch between them", "", UseAnyEnds(), at...)
		}
	}
}

// vmTraffic refuses ends whose clocks cannot be compared: a guest's time stamp counter has its own
// offset, and under TCG its own rate.
func (c *checker) vmTraffic(t *Traffic) {
	from, _ := splitEndpoint(t.From)
	to, _ := splitEndpoint(t.To)
	if c.isGuest(t.From) && t.Packets == PacketsRecord {
		c.fail("the packets of an engine in a virtual machine cannot be recorded: it sees none of the host's files", "", "remove packets, or end the traffic in another node", "traffic", "packets")
	}
	if from == to || !c.isGuest(t.From) && !c.isGuest(t.To) {
		return
	}
	c.fail("one end of the traffic is in a virtual machine, whose time stamp counter differs from the other end's", "",
		"end the traffic in a node of the host at both sides and let the machine forward or reflect it, or at two interfaces of the one machine", "traffic")
}
