package host

import "net/netip"

// Uplink is an interface of the host that a management network can be put on, as the kernel has it now.
// Package lab/link reads it.
type Uplink struct {
	Name string `json:"name"`
	// Kind is the kernel's name for a device that it makes itself, such as bridge, bond or veth; empty for
	// a card.
	Kind string `json:"kind,omitempty"`
	MAC  string `json:"mac,omitempty"`
	MTU  int    `json:"mtu"`
	// Addresses are its IPv4 addresses that other machines reach, with the lengths of their networks.
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	// Master is the device that it is a part of, of the kind MasterKind; empty for none.
	Master     string `json:"master,omitempty"`
	MasterKind string `json:"master_kind,omitempty"`
	// Ethernet is false for the loopback interface, tunnels without addresses of Ethernet, and InfiniBand.
	Ethernet bool `json:"ethernet"`
	Wireless bool `json:"wireless,omitempty"`
	// Up is true if it is set up, and Carrier if it has a link.
	Up      bool `json:"up"`
	Carrier bool `json:"carrier"`
	// LRO is true if the card puts packets together in a way that no other device can send on.
	LRO bool `json:"lro,omitempty"`
}

// Uplink finds an interface among Uplinks; nil where it is not there.
func (inv *Inventory) Uplink(name string) *Uplink {
	for i := range inv.Uplinks {
		if inv.Uplinks[i].Name == name {
			return &inv.Uplinks[i]
		}
	}
	return nil
}
