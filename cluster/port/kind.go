package port

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/spec"
)

// kind says how to make the ports of a tier.
type kind struct {
	// parent describes their parent: "a network card".
	parent string
	// take makes what does not need the pod, or takes long: a socket, a virtual function. It journals its steps.
	take func(context.Context, site, *Held) error
	// device makes the port's device in a pod's namespace; nil for sockets.
	device func(context.Context, site, *netns.Namespace) (netlink.Link, error)
	// ready finishes the pod's device once it is up; nil if nothing is left to do.
	ready func(site, *netns.Namespace) error
	// restore makes again what other programs have removed of a held port; nil if they can remove nothing.
	restore func(context.Context, site, *Held) error
	// await waits until the port passes packets; nil if it does as soon as its device is up.
	await func(context.Context, site) error
	// forgotten removes the ports of the same parent that an earlier boot has left in a database, except held
	// ones; nil for tiers without a database.
	forgotten func(context.Context, site, []Held) error
	// inPod is what the pod sees: an interface, or the kind of socket.
	inPod string
	// inSwitch is true for ports of the node's switch, inOVS for ports of an Open vSwitch, overlay for those of
	// them that belong to OVN, and function for virtual functions of a card.
	inSwitch, inOVS, overlay, function bool
	// named is true if the parent is only a name that the user chooses, not a thing that the node has. needs
	// then lists the features that the host needs for such ports.
	named bool
	needs []string
	// napi is true for devices that receive with their own NAPI instances instead of a card's.
	napi bool
	// spans is true for ports that reach the ports of a parent with the same name on other nodes.
	spans bool
	// podListens is true for sockets that a pod makes, shared for those that several pods use.
	podListens, shared bool
}

var kinds = map[spec.LinkKind]kind{
	spec.LinkMacvlan: {parent: "a network card", device: addMacvlan, inPod: "interface", spans: true},
	spec.LinkVXLAN:   {parent: "a VXLAN device", device: addToVXLAN, inPod: "interface", spans: true},
	spec.LinkBridge:  {parent: "a bridge", device: addToBridge, inPod: "interface", napi: true},
	spec.LinkXDP: {
		parent: "a switch of XDP programs (any name)", device: addXDP, ready: readyXDP, restore: restoreXDP, inPod: "interface",
		named: true, napi: true, needs: spec.LinkXDP.Descriptor().Needs,
	},
	spec.LinkSRIOV: {parent: "a network card", take: takeFunction, device: moveFunction, inPod: "interface", function: true, napi: true},
	spec.LinkOVN: {
		parent: "a logical switch of OVN", take: takeLogical, device: addOverlay, restore: restoreLogical,
		await: awaitOverlay, forgotten: forgottenLogical, inPod: "interface", inOVS: true, overlay: true, napi: true, spans: true,
	},
	spec.LinkSwitch: {parent: "a switch of nines", take: takeVhost, restore: restoreVhost, inPod: KindVhost, inSwitch: true},
	spec.LinkMemif:  {parent: "the node's memory", take: takeMemory, restore: restoreMemory, inPod: "memif", podListens: true, shared: true},
	spec.LinkOVSDPDK: {
		parent: "a bridge of Open vSwitch with DPDK", take: takeOVS, restore: restoreOVS, forgotten: forgottenOVS,
		inPod: KindVhost, inOVS: true, podListens: true,
	},
}

// Tiers returns the tiers that can have ports, sorted.
func Tiers() []spec.LinkKind { return slices.Sorted(maps.Keys(kinds)) }

// Spans returns true for a tier whose ports reach the ports of the same parent on other nodes.
func Spans(tier spec.LinkKind) bool { return kinds[tier].spans }

func tierNames() string {
	var list []string
	for _, t := range Tiers() {
		list = append(list, string(t))
	}
	return strings.Join(list, ", ")
}

// The tiers of whole interfaces that other programs give to pods: a card, and a virtual function. TierOfType
// returns the tier of other devices.
const (
	CardTier     = spec.LinkPassthrough
	FunctionTier = spec.LinkSRIOV
)

// TierOfType returns the tier of a device with the kernel's type; empty for a type that nines does not measure.
func TierOfType(kernels string) spec.LinkKind {
	if kind := spec.LinkKind(kernels); kind == spec.LinkMacvlan {
		return kind
	}
	return ""
}

// site is where one port is made.
type site struct {
	Order
	journal *journal.Journal
	// sockets is the folder of its sockets.
	sockets string
	// keeper has this port and the node's other ports.
	keeper Keeper
	// mark distinguishes this keeper's ports from other keepers' where names do not.
	mark string
}
