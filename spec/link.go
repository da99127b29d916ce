package spec

// LinkKind is how endpoints are joined.
type LinkKind string

// The link kinds; package lab/link has one file each.
const (
	LinkVeth    LinkKind = "veth"
	LinkBridge  LinkKind = "bridge"
	LinkMacvlan LinkKind = "macvlan"
	LinkXDP     LinkKind = "xdp"

	// LinkMemif is shared memory from node to node, for two DPDK ends.
	LinkMemif LinkKind = "memif"
	// LinkSwitch is the engine's own poll-mode learning switch.
	LinkSwitch LinkKind = "switch"
	// LinkTestpmd is DPDK's testpmd in io mode between two vhost-user ports.
	LinkTestpmd LinkKind = "testpmd"
	// LinkOVS is Open vSwitch: the kernel's datapath, else userspace's netdev.
	LinkOVS LinkKind = "ovs"
	// LinkOVSDPDK is Open vSwitch with DPDK and vhost-user ports.
	LinkOVSDPDK LinkKind = "ovs-dpdk"
	// LinkVPP is FD.io's VPP, LinkSnabb Snabb's bridge; where they are installed.
	LinkVPP   LinkKind = "vpp"
	LinkSnabb LinkKind = "snabb"

	// LinkSRIOV is a pair of virtual functions of network cards that share a VLAN, on
	// two cabled ports or on one.
	LinkSRIOV LinkKind = "sriov"
	// LinkPassthrough is whole devices, whatever joins them outside of the host.
	LinkPassthrough LinkKind = "passthrough"
)

// HasProgram tells whether a program stands between the endpoints of a kind, which
// the lab starts and ends.
func (k LinkKind) HasProgram() bool {
	switch k {
	case LinkSwitch, LinkTestpmd, LinkOVS, LinkOVSDPDK, LinkVPP, LinkSnabb:
		return true
	case LinkVeth, LinkBridge, LinkMacvlan, LinkXDP, LinkMemif, LinkSRIOV, LinkPassthrough:
	}
	return false
}

// IsPair tells whether a kind joins two endpoints, no more and no fewer.
func (k LinkKind) IsPair() bool {
	switch k {
	case LinkVeth, LinkMemif, LinkTestpmd, LinkSRIOV, LinkPassthrough:
		return true
	case LinkBridge, LinkMacvlan, LinkXDP, LinkSwitch, LinkOVS, LinkOVSDPDK, LinkVPP, LinkSnabb:
	}
	return false
}

// Link joins endpoints.
type Link struct {
	// Name is unique in the file; default link1, link2, … in order.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// Kind is how the endpoints are joined (default veth).
	Kind LinkKind `yaml:"kind,omitempty" json:"kind,omitempty"`
	// Endpoints are "node:interface"; veth takes two, the others two or more.
	Endpoints []string `yaml:"endpoints" json:"endpoints"`
	// MTU is the link's MTU in bytes, without the Ethernet header (default: what
	// the traffic needs, at least 1500).
	MTU int `yaml:"mtu,omitempty" json:"mtu,omitempty"`
	// RX is how the kernel gets packets from some of the endpoints, by endpoint (default:
	// the node's rx).
	RX map[string]Receive `yaml:"rx,omitempty" json:"rx,omitempty"`
	// Parent is the host's interface under a macvlan (default: a private one is
	// made).
	Parent string `yaml:"parent,omitempty" json:"parent,omitempty"`
	// Switch sets up the program of a link that has one: switch, testpmd, ovs,
	// ovs-dpdk, vpp, snabb.
	Switch *Switch `yaml:"switch,omitempty" json:"switch,omitempty"`
	// SRIOV sets up the virtual functions of a link of kind sriov.
	SRIOV *SRIOV `yaml:"sriov,omitempty" json:"sriov,omitempty"`
	// Passthrough names the devices of a link of kind passthrough.
	Passthrough *Passthrough `yaml:"passthrough,omitempty" json:"passthrough,omitempty"`
}
