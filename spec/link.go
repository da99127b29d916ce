package spec

// Link joins endpoints.
type Link struct {
	// Name is unique in the file; default link1, link2, … in order.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// Kind is how the endpoints are joined (default veth).
	Kind LinkKind `yaml:"kind,omitempty" json:"kind,omitempty"`
	// Endpoints are "node:interface": two, or more where the kind joins more.
	Endpoints []string `yaml:"endpoints" json:"endpoints"`
	// MTU is the link's MTU in bytes, without the Ethernet header (default: what the traffic needs,
	// and at least 1500).
	MTU int `yaml:"mtu,omitempty" json:"mtu,omitempty"`
	// RX is how the kernel gets packets from some of the endpoints, by endpoint (default:
	// the node's rx).
	RX map[string]Receive `yaml:"rx,omitempty" json:"rx,omitempty"`
	// Impair is what happens, deliberately, to the packets of every direction of the link (default
	// nothing).
	Impair *Impairment `yaml:"impair,omitempty" json:"impair,omitempty"`
	// ImpairFrom is what happens to the packets that an endpoint sends, by endpoint, in place of
	// impair.
	ImpairFrom map[string]*Impairment `yaml:"impair_from,omitempty" json:"impair_from,omitempty"`
	// GRO merges received packets of a flow, and gives a veth NAPI, without which XDP cannot redirect to its other
	// end (default false).
	GRO bool `yaml:"gro,omitempty" json:"gro,omitempty"`
	// Offloads are the jobs that the kernel leaves to the link's devices (default: none).
	Offloads []Offload `yaml:"offloads,omitempty" json:"offloads,omitempty"`
	// Parent is the host's interface under a macvlan (default: a new private one).
	Parent string `yaml:"parent,omitempty" json:"parent,omitempty"`
	// Class is the DeviceClass that pods claim a port of (default: the link kind has none).
	Class string `yaml:"class,omitempty" json:"class,omitempty"`
	// Switch sets up the program between the endpoints, where the kind has one.
	Switch *Switch `yaml:"switch,omitempty" json:"switch,omitempty"`
	// SRIOV sets up the virtual functions of a link of kind sriov.
	SRIOV *SRIOV `yaml:"sriov,omitempty" json:"sriov,omitempty"`
	// Passthrough names the devices of a link of kind passthrough.
	Passthrough *Passthrough `yaml:"passthrough,omitempty" json:"passthrough,omitempty"`
}

// NamedByPlace is true for the link at a place of the file, from 0, that has no name there but the one of its place.
func (l *Link) NamedByPlace(place int) bool { return l.Name == "" || l.Name == defaultLinkName(place) }

// Offload is a job that the kernel can leave to the device that sends a packet.
type Offload string

// The offloads; those of receiving are GRO.
const (
	// OffloadChecksum leaves the checksums of TCP and UDP to the device. A virtual one never fills them in.
	OffloadChecksum Offload = "tx_checksum"
	// OffloadTSO and OffloadGSO let a "packet" of up to 64 KiB cross a link: TSO of TCP, GSO of all else.
	OffloadTSO Offload = "tso"
	OffloadGSO Offload = "gso"
)
