package spec

import "slices"

// Leaves is how packets leave a device of the user's: what nines plans for, and what it must see where they arrive.
type Leaves string

// The ways that packets leave a device; none given is any of them.
const (
	LeavesUnchanged  Leaves = "unchanged"
	LeavesForwarded  Leaves = "forwarded"
	LeavesRouted     Leaves = "routed"
	LeavesTranslated Leaves = "translated"
	LeavesRelayed    Leaves = "relayed"
	LeavesReturned   Leaves = "returned"
)

// LeavesDescriptor describes one of them.
type LeavesDescriptor struct {
	Leaves Leaves
	// Doc says what the device does with packets, and Examples what such devices are.
	Doc, Examples string
	// Seen says what is seen of its packets where they arrive.
	Seen string
	// Through is true where frames carry the far end's MAC address: for them the device is not there.
	Through bool
	// ToDevice is true where packets carry the device's own IP address.
	ToDevice bool
	// SendsBack is true where packets return to their sender.
	SendsBack bool
	// Routes is true for a device that may be the node's kernel, and is, unless the file says otherwise.
	Routes bool
}

var leaves = []LeavesDescriptor{
	{
		Leaves: LeavesUnchanged, Through: true,
		Doc: "frames leave as they came", Examples: "a Linux bridge, testpmd io, a redirect by XDP or tc",
		Seen: "the sender's MAC addresses and TTL",
	},
	{
		Leaves: LeavesForwarded,
		Doc:    "frames leave with other MAC addresses", Examples: "l2fwd, testpmd mac or macswap, a redirect by XDP that writes MACs",
		Seen: "another source MAC address, and the sender's TTL",
	},
	{
		Leaves: LeavesRouted, Routes: true,
		Doc: "packets leave with a lower TTL", Examples: "ip_forward, FRR, l3fwd, VPP, a firewall, a tunnel's gateway",
		Seen: "the device's MAC address, and a lower TTL",
	},
	{
		Leaves: LeavesTranslated, Routes: true,
		Doc: "packets leave with other addresses or ports", Examples: "NAT by nftables",
		Seen: "the device's MAC address, and a lower TTL; addresses and ports may differ",
	},
	{
		Leaves: LeavesRelayed, ToDevice: true,
		Doc: "a program receives packets and sends them on", Examples: "nginx stream, socat, a proxy",
		Seen: "the device's IP address as the source",
	},
	{
		Leaves: LeavesReturned, ToDevice: true, SendsBack: true,
		Doc: "packets return to their sender", Examples: "a UDP echo, an L2 reflector",
		Seen: "the device's MAC address",
	},
}

// Descriptor returns the descriptor of a way to leave, and an empty one where none is given.
func (l Leaves) Descriptor() *LeavesDescriptor {
	if i := slices.IndexFunc(leaves, func(d LeavesDescriptor) bool { return d.Leaves == l }); i >= 0 {
		return &leaves[i]
	}
	return &LeavesDescriptor{Leaves: l}
}

// LeavesNames lists the ways that packets leave a device.
func LeavesNames() []string {
	names := make([]string, len(leaves))
	for i, d := range leaves {
		names[i] = string(d.Leaves)
	}
	return names
}

// ForwardedBy is who forwards IP packets in a device's node.
type ForwardedBy string

// ForwardedByKernel is the node's kernel, ForwardedByOwn a program of the user's.
const (
	ForwardedByKernel ForwardedBy = "kernel"
	ForwardedByOwn    ForwardedBy = "own"
)

// Handling is what a node does with packets.
type Handling struct {
	Kind       AppKind
	Leaves     Leaves
	Forwarding ForwardedBy
}

// Handling is what the app does with packets; nil does nothing.
func (a *App) Handling() Handling {
	if a == nil {
		return Handling{}
	}
	return Handling{a.Kind, a.Leaves, a.Forwarding}
}

// IsDevice is true for a device of the user's.
func (h Handling) IsDevice() bool { return h.Kind.Descriptor().Device }

// HasEngine is true where an engine handles packets.
func (h Handling) HasEngine() bool { return h.Kind.Descriptor().Engine }

// Routes is true where the node's kernel forwards IP.
func (h Handling) Routes() bool {
	if !h.IsDevice() {
		return h.Kind.Descriptor().Routes
	}
	return h.Forwarding == ForwardedByKernel || h.Forwarding == "" && h.Leaves.Descriptor().Routes
}

// SendsBack is true where packets return to their sender, so that the traffic's path ends there.
func (h Handling) SendsBack() bool {
	return h.Kind.Descriptor().SendsBack || h.Leaves.Descriptor().SendsBack
}

// PassesOn is true where packets go on.
func (h Handling) PassesOn() bool { return h.Kind != "" && !h.SendsBack() }

// Through is true where frames pass as if the node were not there.
func (h Handling) Through() bool { return h.Leaves.Descriptor().Through }

// ToDevice is true where packets carry the address of the user's device.
func (h Handling) ToDevice() bool { return h.Leaves.Descriptor().ToDevice }
