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

// kind is how the ports of a tier are made.
type kind struct {
	// parent says what their parent is: "a network card".
	parent string
	// take makes what a port is before there is a pod: its socket, or what takes long. Steps are journalled.
	take func(context.Context, site, *Held) error
	// device makes the port's device in a pod's namespace; nil for sockets.
	device func(context.Context, site, *netns.Namespace) (netlink.Link, error)
	// ready finishes the pod's device once it is up; nil where nothing is left to do.
	ready func(site, *netns.Namespace) error
	// restore makes anew what others have taken away of a port that is held; nil if nobody can.
	restore func(context.Context, site, *Held) error
	// await waits until packets pass, where a device alone does not say so; nil elsewhere.
	await func(context.Context, site) error
	// forgotten removes what an earlier boot has left of ports of the same parent, in what outlives one,
	// but for those that are held; nil where nothing does.
	forgotten func(context.Context, site, []Held) error
	// inPod is what a port is in a pod.
	inPod string
	// inSwitch is true for ports of the node's switch, inOVS for those of an Open vSwitch, overlay for those
	// of OVN's by it, and function for virtual functions of a card.
	inSwitch, inOVS, overlay, function bool
	// named is true where the parent is a name that the user chooses, and nothing that a node has. Then needs
	// are the features of a host without which there are no such ports.
	named bool
	needs []string
	// napi is true for devices that receive by NAPI instances of their own, and not by a card's.
	napi bool
	// spans is true for ports that reach those of the same parent's name on other nodes.
	spans bool
	// podListens is true for sockets that a pod makes, shared for those that several pods use.
	podListens, shared bool
}

var kinds = map[spec.LinkKind]kind{
	spec.LinkMacvlan: {parent: "a network card", device: addMacvlan, inPod: "interface", spans: true},
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

// Tiers are those of which there can be ports, sorted.
func Tiers() []spec.LinkKind { return slices.Sorted(maps.Keys(kinds)) }

// Spans is true for a tier whose ports reach those of the same parent on other nodes.
func Spans(tier spec.LinkKind) bool { return kinds[tier].spans }

func tierNames() string {
	var list []string
	for _, t := range Tiers() {
		list = append(list, string(t))
	}
	return strings.Join(list, ", ")
}

// Tiers of interfaces that somebody gives to pods whole: of a card, of a virtual function, and of a device of the
// kernel's type.
const (
	CardTier     = spec.LinkPassthrough
	FunctionTier = spec.LinkSRIOV
)

// TierOfType is empty for a type of which nothing is measured.
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
	// keeper has the port and those beside it.
	keeper Keeper
	// mark tells this keeper's ports from those of others, where names do not.
	mark string
}
