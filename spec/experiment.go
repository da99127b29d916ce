package spec

import (
	"net/netip"
	"slices"

	"go.yaml.in/yaml/v4"
)

// Experiment is one experiment file after its sweep has been resolved: every
// value is a single value, and every default is filled in.
type Experiment struct {
	// Name is the name of the lab and of its result folder.
	Name string `yaml:"name" json:"name"`
	// Prefix begins every name made on the host (default: derived from the name).
	Prefix string `yaml:"prefix,omitempty" json:"prefix,omitempty"`
	// Topology is the network.
	Topology Topology `yaml:"topology" json:"topology"`
	// Traffic is what is measured. Without it the trials are what the nodes' scripts do; without
	// these, too, the lab is only brought up.
	Traffic *Traffic `yaml:"traffic,omitempty" json:"traffic,omitempty"`
	// Method is how the trials are chosen: a plain sweep, or a search by a standard's procedure
	// (default sweep).
	Method *Method `yaml:"method,omitempty" json:"method,omitempty"`
	// Isolation is how far the nodes' CPUs are kept from everything else (default
	// affinity).
	Isolation Isolation `yaml:"isolation,omitempty" json:"isolation,omitempty"`
	// Tuning is the profile of host settings that is in force while the lab is up
	// (default none).
	Tuning Tuning `yaml:"tuning,omitempty" json:"tuning,omitempty"`
	// Trace records what ran on the CPUs around slow packets, to find their causes (default false).
	Trace bool `yaml:"trace,omitempty" json:"trace,omitempty"`
	// Tracing sets up that recorder.
	Tracing *Tracing `yaml:"tracing,omitempty" json:"tracing,omitempty"`
	// Disturb is deliberate competition while the lab is up, by name.
	Disturb map[string]*Disturbance `yaml:"disturb,omitempty" json:"disturb,omitempty"`
	// Events are what happens to the lab in the course of every trial.
	Events []*Event `yaml:"events,omitempty" json:"events,omitempty"`
	// Images are built from Debian's packages when a node needs them, by name.
	Images map[string]*ImageRecipe `yaml:"images,omitempty" json:"images,omitempty"`
	// Cluster says where nodes with the runtime pod run.
	Cluster *Cluster `yaml:"cluster,omitempty" json:"cluster,omitempty"`
	// Management is a network by which the host reaches the nodes (default: there is none).
	Management *Management `yaml:"management,omitempty" json:"management,omitempty"`
	// Scripts are the host's scripts, and the limits of all scripts.
	Scripts *HostScripts `yaml:"scripts,omitempty" json:"scripts,omitempty"`
	// Variables are for the scripts of all nodes, by name. The result keeps them.
	Variables map[string]string `yaml:"variables,omitempty" json:"variables,omitempty"`
	// Power lets the nodes be switched on and off over the network.
	Power *Power `yaml:"power,omitempty" json:"power,omitempty"`
	// DPDK sets up the engines and switches that use DPDK.
	DPDK *DPDK `yaml:"dpdk,omitempty" json:"dpdk,omitempty"`
	// Repeat is how often each combination of the sweep is run (default 1).
	Repeat int `yaml:"repeat,omitempty" json:"repeat,omitempty"`
	// Order is the order of the repeats (default interleaved).
	Order Order `yaml:"order,omitempty" json:"order,omitempty"`
	// Duet compares two variants of the network that stand side by side, packet by packet (default: there is one network).
	Duet *Duet `yaml:"duet,omitempty" json:"duet,omitempty"`
	// Expect is what has to be true of what is measured, such as "p99 < 100us" (default: nothing).
	Expect []string `yaml:"expect,omitempty" json:"expect,omitempty"`
	// Reference is the folder of a result that expectations compare with, or several of different days.
	Reference []string `yaml:"reference,omitempty" json:"reference,omitempty"`
	// Published are points of other measurements, drawn over those of this one.
	Published []*Published `yaml:"published,omitempty" json:"published,omitempty"`
}

// MarshalYAML leaves out the traffic's values that a search chooses itself.
func (e Experiment) MarshalYAML() (any, error) {
	type plain Experiment
	if !e.Method.Search() || e.Traffic == nil {
		return plain(e), nil
	}
	var node yaml.Node
	if err := node.Encode(plain(e)); err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value != "traffic" {
			continue
		}
		traffic, kept := node.Content[i+1], []*yaml.Node(nil)
		for j := 0; j+1 < len(traffic.Content); j += 2 {
			if key := traffic.Content[j].Value; key != "rate_pps" && key != "duration" {
				kept = append(kept, traffic.Content[j], traffic.Content[j+1])
			}
		}
		traffic.Content = kept
	}
	return &node, nil
}

// Order says how the repeats of a sweep follow one another.
type Order string

// Interleaved runs A B C A B C, so that slow changes of the host affect all alike; sequential runs
// A A B B C C.
const (
	OrderInterleaved Order = "interleaved"
	OrderSequential  Order = "sequential"
)

// Topology is the network: nodes by name, and the links between them.
type Topology struct {
	// Nodes are the machines, by name.
	Nodes map[string]*Node `yaml:"nodes" json:"nodes"`
	// Links make and join the nodes' interfaces.
	Links []*Link `yaml:"links,omitempty" json:"links,omitempty"`
	// RepeatedAddresses are networks whose addresses may be on several links, once on each, and on several nodes'
	// loopbacks (default: none).
	RepeatedAddresses []string `yaml:"repeated_addresses,omitempty" json:"repeated_addresses,omitempty"`
}

// Repeats is true for an address that may be on several links: one that the file says, and IPv6's of a link.
func (t *Topology) Repeats(a netip.Addr) bool {
	return a.Is6() && a.IsLinkLocalUnicast() || slices.ContainsFunc(t.RepeatedAddresses, func(text string) bool {
		network, err := netip.ParsePrefix(text)
		return err == nil && network.Contains(a)
	})
}
