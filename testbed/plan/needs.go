package plan

import (
	"nines.dev/nines/spec"
	"nines.dev/nines/testbed/host"
)

// Needs says what an experiment asks of a host beside CPUs and memory, for
// host.Check. Nodes come by name and links in the file's order.
func Needs(exp *spec.Experiment) host.Needs {
	needs := host.Needs{Root: true, Measured: exp.Traffic != nil}
	feature := func(who string, names ...string) {
		for _, name := range names {
			needs.Features = append(needs.Features, host.Need{Name: name, For: who})
		}
	}
	for _, name := range sortedKeys(exp.Topology.Nodes) {
		n := exp.Topology.Nodes[name]
		if n == nil {
			n = &spec.Node{}
		}
		who := "node " + name
		feature(who, host.FeatureNetns)
		if n.Runtime == spec.RuntimeLXC {
			feature(who, host.FeatureLXC)
		}
		if n.App != nil && n.App.Backend == spec.BackendXDP {
			feature(who, host.FeatureAFXDP)
		}
		if n.Memory > 0 {
			needs.Controllers = append(needs.Controllers, host.Need{Name: "memory", For: who})
		}
		if n.CPUs > 0 || n.CPUList != "" {
			needs.Controllers = append(needs.Controllers, host.Need{Name: "cpuset", For: who})
		}
	}
	for i, l := range exp.Topology.Links {
		who := "link " + linkName(i, l)
		switch l.Kind {
		case spec.LinkBridge:
			feature(who, host.FeatureVeth, host.FeatureBridge)
		case spec.LinkMacvlan:
			feature(who, host.FeatureMacvlan)
		case spec.LinkXDP:
			feature(who, host.FeatureVeth, host.FeatureXDPVeth)
		default:
			feature(who, host.FeatureVeth)
		}
	}
	if exp.Traffic != nil && exp.Traffic.Backend == spec.BackendXDP {
		feature("traffic", host.FeatureAFXDP)
	}
	return needs
}
