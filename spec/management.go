package spec

// Management is a network beside the measured ones, by which the host, and people on it, reach the
// nodes.
type Management struct {
	// Mode is where the network ends (default private).
	Mode ManagementMode `yaml:"mode,omitempty" json:"mode,omitempty"`
	// Subnet is the IPv4 network of a private one (default: one of 172.16.0.0/12 that the host has no
	// route to). The host has its first address.
	Subnet string `yaml:"subnet,omitempty" json:"subnet,omitempty"`
	// Uplink is the interface of the host that a shared network is on: a card, or a bridge.
	Uplink string `yaml:"uplink,omitempty" json:"uplink,omitempty"`
	// Addresses are those of the uplink's network that the nodes get, in the order of their names: the
	// first and the last. By default, with mac: pos, those that pos would give.
	Addresses string `yaml:"addresses,omitempty" json:"addresses,omitempty"`
	// MAC is how the nodes get their MAC addresses on it (default plan).
	MAC ManagementMAC `yaml:"mac,omitempty" json:"mac,omitempty"`
	// SSHKeys are files of public keys, whose owners may log in to the nodes as root.
	SSHKeys []string `yaml:"ssh_keys,omitempty" json:"ssh_keys,omitempty"`
	// DNS starts a server of names and addresses, dnsmasq, on a private one (default true).
	DNS bool `yaml:"dns" json:"dns"`
}

// ManagementMode is where a management network ends.
type ManagementMode string

// A private network ends at this host. On a shared one the nodes are beside the host, on the network that
// one of its interfaces is on.
const (
	ManagementPrivate ManagementMode = "private"
	ManagementShared  ManagementMode = "shared"
)

// ManagementMAC is how nodes get their MAC addresses on a management network.
type ManagementMAC string

// By plan an address is of the lab's and the node's name, as those of links are. By pos it is of the
// host's address and the node's number, by which the testbed pos knows machines.
const (
	ManagementMACPlan ManagementMAC = "plan"
	ManagementMACPos  ManagementMAC = "pos"
)

const (
	// ManagementInterface is the nodes' interface on the management network.
	ManagementInterface = "mgmt"
	// ManagementLink is the link that joins them.
	ManagementLink = "management"
)
