package spec

import (
	"reflect"
	"slices"
	"strings"
)

// LinkKind is how endpoints are joined.
type LinkKind string

// LinkDescriptor describes a link kind, as far as no host is needed. Validation, the schema, plans,
// drawings and docs/links.md read it; none of them compares kinds by name. Package lab/link has the
// function that makes a link of each kind.
type LinkDescriptor struct {
	Kind LinkKind
	// Doc says in a few words what the kind is, and Between what is between the ends.
	Doc, Between string

	// Pair is true if the kind joins two endpoints, no more and no fewer.
	Pair bool
	// MostEndpoints and MostMTU are the kind's own bounds; 0: the bounds of all links.
	MostEndpoints, MostMTU int

	// End is what an endpoint is in its node, if the kernel has it.
	End LinkEnd
	// InFabric is true if the other side of such an end is in the lab's fabric, false if it is in
	// the other node or is hardware.
	InFabric bool
	// Device is what else the link has in the fabric, under the link's own name: "bridge",
	// "parent"; empty: nothing.
	Device string
	// XDPFrames is true if frames of an AF_XDP socket reach the other end as XDP frames, not as
	// socket buffers.
	XDPFrames bool
	// DPDK is how an engine with the backend dpdk attaches to the link.
	DPDK DPDKEnd
	// Guest is how a virtual machine attaches to it.
	Guest GuestEnd
	// Remote is true for a network that a cluster has made, which joins nodes of that cluster and
	// no others.
	Remote bool

	// Claimed is true for a remote kind whose ends are no pod's by themselves: each pod claims one.
	Claimed bool

	// Program is the program between the endpoints; nil: none.
	Program *LinkProgram
	// AnyEnds is true for a kind that errors offer where another joins too few ends, or no virtual machines.
	AnyEnds bool
	// ImpairBy is what impairs such a link, where the file asks for it.
	ImpairBy ImpairBy
	// Keys are the keys of a link in the file that only some kinds, such as this one, take:
	// "parent".
	Keys []string
	// Needs names the features of package host that the kind needs. Package plan itself checks
	// CPUs, memory and cards.
	Needs []string
	// Colour is the kind's colour in drawings, such as "#0072b2".
	Colour string
}

// LinkEnd is what an endpoint of a link is in its node.
type LinkEnd string

// The kinds of ends in the kernel; EndNone is none: only DPDK can use the link.
const (
	EndNone     LinkEnd = "none"
	EndVeth     LinkEnd = "veth"
	EndMacvlan  LinkEnd = "macvlan"
	EndFunction LinkEnd = "virtual function"
	EndDevice   LinkEnd = "whole device"
	EndPod      LinkEnd = "a pod's interface"
)

// IsHardware is true for a PCI function of the host.
func (e LinkEnd) IsHardware() bool { return e == EndFunction || e == EndDevice }

// HasNAPI is false for a device whose packets are received with those of another.
func (e LinkEnd) HasNAPI() bool { return e != EndMacvlan }

// DPDKEnd is how DPDK attaches to a link.
type DPDKEnd string

// DPDKAtEnd opens what the kernel would otherwise use, its device or the PCI function; with DPDKNone
// DPDK cannot attach; the others are sockets that set up memory shared with the link's program, with
// the other end, or with what a pod's claim leads to.
const (
	DPDKAtEnd   DPDKEnd = ""
	DPDKVhost   DPDKEnd = "vhost-user"
	DPDKMemif   DPDKEnd = "memif"
	DPDKClaimed DPDKEnd = "vhost-user, by a claim"
	DPDKNone    DPDKEnd = "none"
)

// GuestEnd is how a virtual machine attaches to a link.
type GuestEnd string

// GuestNone: a virtual machine cannot join the link.
const (
	GuestNone     GuestEnd = ""
	GuestTap      GuestEnd = "tap"
	GuestVhost    GuestEnd = "vhost-user"
	GuestFunction GuestEnd = "function"
)

// LinkProgram is the program between the endpoints of a link, which the lab starts and stops.
type LinkProgram struct {
	// IsEngine is true for nines-engine, which has a control socket and counters.
	IsEngine bool
	// Listens is true if the program listens on the vhost-user sockets. Other programs connect to
	// them, so that ports come back after a restart of the program (Open vSwitch deprecates ports
	// that listen, as guests then have to reconnect).
	Listens bool
	// MostCPUs is the most CPUs that it can spread its ports over; 0: no bound.
	MostCPUs int
	// MemoryBytes is what it takes for packets and tables, in hugepages; 0: it takes none.
	MemoryBytes int64
	// Memory computes MemoryBytes from the link's endpoints and MTU and the size of the pages, where
	// it depends on them; nil where it does not.
	Memory func(endpoints, mtu int, pageBytes int64) int64
	// EachNUMANode is true if it takes that much on each NUMA node of the host.
	EachNUMANode bool
	// HugepagesOnly is true if it cannot do without hugepages.
	HugepagesOnly bool
	// KernelDatapath names the host feature with which the kernel forwards in the program's place,
	// so that nothing polls; empty: the program always polls.
	KernelDatapath string
	// CannotWake is true if it fails where an end of its vhost-user sockets sleeps and asks to be woken.
	CannotWake bool
	// Unpackaged is true if no package of Debian has it: nobody has to have it.
	Unpackaged bool
	// Opens says how it opens the fabric's ends of veth pairs, for docs/links.md.
	Opens string
	// Keys are the keys of switch that it takes besides cpus and cpu_list.
	Keys []string
}

// WakesDPDK is true if packets wake an engine that sleeps with the backend dpdk: over vhost-user, the other side
// signals the driver's receive interrupt.
func (d *LinkDescriptor) WakesDPDK() bool {
	vhost := d.DPDK == DPDKVhost || d.DPDK == DPDKClaimed
	return vhost && (d.Program == nil || !d.Program.CannotWake)
}

// Descriptor returns the descriptor of a kind: of the default for an empty kind, an empty one for
// an unknown kind.
func (k LinkKind) Descriptor() *LinkDescriptor {
	if k == "" {
		return &linkKinds[0]
	}
	if i := slices.IndexFunc(linkKinds, func(d LinkDescriptor) bool { return d.Kind == k }); i >= 0 {
		return &linkKinds[i]
	}
	return &LinkDescriptor{Kind: k}
}

// LinkKinds lists the kinds in the order of docs/links.md.
func LinkKinds() []LinkKind {
	return kindsThat(func(*LinkDescriptor) bool { return true })
}

// RegisterLink adds a kind from another package, which also calls link.Register. Call it at the
// start of a program, before any file is read.
func RegisterLink(d LinkDescriptor) {
	if slices.Contains(LinkKinds(), d.Kind) {
		panic("spec: two link kinds with the name " + d.Kind)
	}
	linkKinds = append(linkKinds, d)
	enums[reflect.TypeFor[LinkKind]()] = texts(LinkKinds()...)
}

// kindsThat lists the kinds that satisfy a condition.
func kindsThat(isSo func(*LinkDescriptor) bool) []LinkKind {
	var kinds []LinkKind
	for i := range linkKinds {
		if isSo(&linkKinds[i]) {
			kinds = append(kinds, linkKinds[i].Kind)
		}
	}
	return kinds
}

// listedKinds names such kinds for an error.
func listedKinds(isSo func(*LinkDescriptor) bool) string {
	return strings.Join(texts(kindsThat(isSo)...), ", ")
}

// UseAnyEnds is the remedy where a kind joins too few ends, or no virtual machines.
func UseAnyEnds() string {
	kinds := texts(kindsThat(func(d *LinkDescriptor) bool { return d.AnyEnds })...)
	last := len(kinds) - 1
	return "use kind: " + strings.Join(kinds[:last], ", ") + " or " + kinds[last]
}

// JoinsTaps is true if that many virtual machines would leave only their taps at the link's ends,
// with nothing between them, so that the lab has to join the taps.
func (d *LinkDescriptor) JoinsTaps(guests int) bool {
	return d.Guest == GuestTap && !d.InFabric && guests > 1
}

// takesGuests is for kindsThat.
func takesGuests(d *LinkDescriptor) bool { return d.Guest != GuestNone }

// hasProgram is for kindsThat.
func hasProgram(d *LinkDescriptor) bool { return d.Program != nil }

// takes is for kindsThat: kinds that take a key of a link.
func takes(key string) func(*LinkDescriptor) bool {
	return func(d *LinkDescriptor) bool { return slices.Contains(d.Keys, key) }
}

// tunes is for kindsThat: kinds whose program takes a key of switch.
func tunes(key string) func(*LinkDescriptor) bool {
	return func(d *LinkDescriptor) bool { return hasProgram(d) && slices.Contains(d.Program.Keys, key) }
}
