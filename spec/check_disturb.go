package spec

import (
	"fmt"
	"maps"
	"slices"

	"nines.dev/nines/terminal"
)

// disturbances checks the key disturb.
func (c *checker) disturbances() {
	for _, name := range slices.Sorted(maps.Keys(c.e.Disturb)) {
		at := []string{"disturb", name}
		d := c.e.Disturb[name]
		c.disturbed(d, at)
		if d.Length > d.Period {
			c.fail(fmt.Sprintf("each lasts %v, longer than the period of %v", d.Length, d.Period), "",
				"write a longer period; a period equal to the length disturbs all the time", under(at, "length")...)
		}
		if d.Scheduling != nil {
			c.policy(d.Scheduling, under(at, "scheduling"))
		}
	}
}

// disturbed checks the target of a disturbance.
func (c *checker) disturbed(d *Disturbance, at []string) {
	n, kind := c.e.Topology.Nodes[d.Node], d.Kind.Descriptor()
	switch {
	case d.Node != "" && d.CPU != nil:
		c.fail("node and cpu exclude each other", "", "keep node for the CPU of its engine, or cpu to name one", under(at, "cpu")...)
	case d.Node != "" && n == nil:
		c.fail(fmt.Sprintf("node %q does not exist", clip(d.Node)), listed(slices.Sorted(maps.Keys(c.e.Topology.Nodes))),
			terminal.DidYouMean(d.Node, slices.Sorted(maps.Keys(c.e.Topology.Nodes))), under(at, "node")...)
	case n != nil && n.Runtime.Descriptor().Remote:
		c.fail(fmt.Sprintf("%q runs on a cluster, and nines-disturb on this host", d.Node), "", "disturb the cluster's node by a separate pod, or remove this", under(at, "node")...)
	case kind.OfEngine && (n == nil || !n.App.Handling().HasEngine() || n.Runtime.Descriptor().Guest):
		c.fail(fmt.Sprintf("%s is for the engine of a node, outside of virtual machines", d.Kind), "",
			"set node to one whose app is forward or reflect", at...)
	case kind.NeedsCPU && d.Node == "" && d.CPU == nil:
		c.fail(fmt.Sprintf("%s needs a target CPU", d.Kind), "", "write node: NAME or cpu: NUMBER", at...)
	}
}
