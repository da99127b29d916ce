package spec

// LinkKind is how endpoints are joined.
type LinkKind string

// The link kinds; package testbed/link has one file each.
const (
	LinkVeth    LinkKind = "veth"
	LinkBridge  LinkKind = "bridge"
	LinkMacvlan LinkKind = "macvlan"
	LinkXDP     LinkKind = "xdp"
)

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
	// Parent is the host's interface under a macvlan (default: a private one is
	// made).
	Parent string `yaml:"parent,omitempty" json:"parent,omitempty"`
}
