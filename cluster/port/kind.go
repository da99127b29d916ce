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
	// device makes the port's device in a pod's namespace; nil for sockets. The step is to be journalled
	// with it.
	device func(context.Context, site, *netns.Namespace) (netlink.Link, error)
	// open makes the port's socket, or the folder for sockets; nil for devices.
	open func(context.Context, site) error
	// inPod is what a port is in a pod.
	inPod string
	// inSwitch is true for ports of the node's switch, inOVS for those of an Open vSwitch, and function for
	// virtual functions of a card.
	inSwitch, inOVS, function bool
	// podListens is true for sockets that a pod makes, shared for those that several pods use.
	podListens, shared bool
}

var kinds = map[spec.LinkKind]kind{
	spec.LinkMacvlan: {parent: "a network card", device: addMacvlan, inPod: "interface"},
	spec.LinkBridge:  {parent: "a bridge", device: addPair, inPod: "interface"},
	spec.LinkSRIOV:   {parent: "a network card", device: moveFunction, inPod: "interface", function: true},
	spec.LinkSwitch:  {parent: "a switch of nines", open: openVhost, inPod: "vhost-user", inSwitch: true},
	spec.LinkMemif:   {parent: "the node's memory", open: openMemory, inPod: "memif", podListens: true, shared: true},
	spec.LinkOVSDPDK: {parent: "a bridge of Open vSwitch with DPDK", open: openOVS, inPod: "vhost-user", inOVS: true, podListens: true},
}

// Tiers are those of which there can be ports, sorted.
func Tiers() []spec.LinkKind { return slices.Sorted(maps.Keys(kinds)) }

func tierNames() string {
	var list []string
	for _, t := range Tiers() {
		list = append(list, string(t))
	}
	return strings.Join(list, ", ")
}

// site is where one port is made.
type site struct {
	Order
	journal *journal.Journal
	// sockets is the folder of its sockets.
	sockets string
}
