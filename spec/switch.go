package spec

// Switch is the program between a link's endpoints.
type Switch struct {
	// CPUs is how many CPUs poll (default 1), each on its own core where there are enough.
	CPUs int `yaml:"cpus,omitempty" json:"cpus,omitempty"`
	// CPUList names them instead ("2-3"); it excludes CPUs.
	CPUList string `yaml:"cpu_list,omitempty" json:"cpu_list,omitempty"`
	// Forwarding is how Open vSwitch forwards: normal learns addresses, flows has one static rule
	// for each port pair (default normal).
	Forwarding Forwarding `yaml:"forwarding,omitempty" json:"forwarding,omitempty"`
	// Ageing is how long the kind switch keeps an address without new packets from it (default
	// 300s; 0 keeps it for good).
	Ageing Duration `yaml:"ageing" json:"ageing"`
	// FloodPPS limits, for each port of the kind switch, how many packets a second
	// with an unknown destination are flooded; 0 does not limit (default 0).
	FloodPPS float64 `yaml:"flood_pps,omitempty" json:"flood_pps,omitempty"`
	// BroadcastPPS limits broadcasts and multicasts likewise (default 0).
	BroadcastPPS float64 `yaml:"broadcast_pps,omitempty" json:"broadcast_pps,omitempty"`
	// Ports sets up ports of the kind switch, by "node:interface".
	Ports map[string]*SwitchPort `yaml:"ports,omitempty" json:"ports,omitempty"`
}

// SwitchPort is a port of the kind switch.
type SwitchPort struct {
	// VLAN is the access VLAN, 1 to 4094: untagged frames belong to it (default:
	// the port is in no VLAN).
	VLAN int `yaml:"vlan,omitempty" json:"vlan,omitempty"`
	// Trunk lists the VLANs that pass tagged.
	Trunk []int `yaml:"trunk,omitempty" json:"trunk,omitempty"`
	// MACs are static addresses behind the port; they never age.
	MACs []string `yaml:"macs,omitempty" json:"macs,omitempty"`
}

// Forwarding is how Open vSwitch forwards packets.
type Forwarding string

// ForwardingNormal learns addresses; ForwardingFlows has one static rule for
// each port pair, for links with two endpoints.
const (
	ForwardingNormal Forwarding = "normal"
	ForwardingFlows  Forwarding = "flows"
)
