package spec

import (
	"reflect"
	"slices"
	"strings"
)

// LinkKind is how endpoints are joined.
type LinkKind string

// LinkDescriptor is what is known of a link kind without a host. Validation, the schema,
// plans, drawings and docs/links.md read it; none of them asks for a kind by its name.
// Package lab/link has for each kind the function that makes such a link.
type LinkDescriptor struct {
	Kind LinkKind
	// Doc says in a few words what the kind is, and Between what stands between the ends.
	Doc, Between string

	// Pair is true if the kind joins two endpoints, no more and no fewer.
	Pair bool
	// MostEndpoints and MostMTU are the kind's own bounds; 0: those of all links.
	MostEndpoints, MostMTU int

	// End is what an endpoint is in its node, if it is the kernel's.
	End LinkEnd
	// InFabric is true if what is behind such an end is in the lab's fabric, false if it is
	// in the other node or is hardware.
	InFabric bool
	// Device is what else the link has in the fabric, under the link's own name: "bridge",
	// "parent"; empty: nothing.
	Device string
	// XDPFrames is true if frames of an AF_XDP socket reach the other end as they are, and
	// not in socket buffers.
	XDPFrames bool
	// DPDK is how an engine with the backend dpdk meets the link.
	DPDK DPDKEnd
	// Guest is how a virtual machine meets it.
	Guest GuestEnd

	// Program is between the endpoints; nil: none.
	Program *LinkProgram
	// Keys are the file's keys of a link that the kind takes and others do not, such as
	// "parent".
	Keys []string
	// Needs names what a host must have for the kind: features of package host. Package
	// plan looks itself at CPUs, memory and cards.
	Needs []string
	// Colour is the kind's in drawings, as "#0072b2".
	Colour string
}

// LinkEnd is what an endpoint of a link is in its node.
type LinkEnd string

// The ends that the kernel has; at EndNone it has none, and only DPDK can use the link.
const (
	EndNone     LinkEnd = "none"
	EndVeth     LinkEnd = "veth"
	EndMacvlan  LinkEnd = "macvlan"
	EndFunction LinkEnd = "virtual function"
	EndDevice   LinkEnd = "whole device"
)

// IsHardware is true for a PCI function of the host.
func (e LinkEnd) IsHardware() bool { return e == EndFunction || e == EndDevice }

// HasNAPI is false for a device whose packets are received with those of another.
func (e LinkEnd) HasNAPI() bool { return e != EndMacvlan }

// DPDKEnd is how DPDK meets a link.
type DPDKEnd string

// DPDKAtEnd opens what the kernel would have, its device or the function; the others are
// sockets over which memory is shared, with the link's program or with the other end.
const (
	DPDKAtEnd DPDKEnd = ""
	DPDKVhost DPDKEnd = "vhost-user"
	DPDKMemif DPDKEnd = "memif"
)

// GuestEnd is how a virtual machine meets a link.
type GuestEnd string

// At GuestNone a virtual machine cannot join.
const (
	GuestNone     GuestEnd = ""
	GuestTap      GuestEnd = "tap"
	GuestVhost    GuestEnd = "vhost-user"
	GuestFunction GuestEnd = "function"
)

// LinkProgram is the program between the endpoints of a link, which the lab starts and
// ends.
type LinkProgram struct {
	// IsEngine is true for nines-engine, which has a control socket and counters.
	IsEngine bool
	// Listens is true if the program listens on the vhost-user sockets. The others connect
	// to them, so that ports come back when the program is restarted (Open vSwitch
	// deprecates ports that listen, as guests then have to reconnect).
	Listens bool
	// MostCPUs is where it cannot spread its ports further; 0: no bound.
	MostCPUs int
	// MemoryBytes is what its DPDK takes for packets and tables; 0 without DPDK.
	MemoryBytes int64
	// KernelDatapath names the host's feature with which the kernel forwards in the
	// program's place, so that nothing polls; empty: it always polls.
	KernelDatapath string
	// Opens says by what it has the fabric's ends of veth pairs, for docs/links.md.
	Opens string
	// Keys are the keys of switch that it takes beside cpus and cpu_list.
	Keys []string
}

// Descriptor is what is known of a kind: of none what is known of the default, of an
// unknown one nothing.
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

// RegisterLink adds a kind from outside of this package, beside link.Register. It is for
// the start of a program, before any file is read.
func RegisterLink(d LinkDescriptor) {
	if slices.Contains(LinkKinds(), d.Kind) {
		panic("spec: two link kinds with the name " + d.Kind)
	}
	linkKinds = append(linkKinds, d)
	enums[reflect.TypeFor[LinkKind]()] = texts(LinkKinds()...)
}

// kindsThat lists the kinds of which something is true.
func kindsThat(isSo func(*LinkDescriptor) bool) []LinkKind {
	var kinds []LinkKind
	for i := range linkKinds {
		if isSo(&linkKinds[i]) {
			kinds = append(kinds, linkKinds[i].Kind)
		}
	}
	return kinds
}

// listedKinds names them for an error.
func listedKinds(isSo func(*LinkDescriptor) bool) string {
	return strings.Join(texts(kindsThat(isSo)...), ", ")
}

// JoinsTaps is true if that many virtual machines at the link's ends would leave nothing
// but their taps, which something has to join.
func (d *LinkDescriptor) JoinsTaps(guests int) bool {
	return d.Guest == GuestTap && !d.InFabric && guests > 1
}

// takesGuests is for kindsThat.
func takesGuests(d *LinkDescriptor) bool { return d.Guest != GuestNone }

// hasProgram is for kindsThat.
func hasProgram(d *LinkDescriptor) bool { return d.Program != nil }

// takes is for kindsThat: those with a key of a link.
func takes(key string) func(*LinkDescriptor) bool {
	return func(d *LinkDescriptor) bool { return slices.Contains(d.Keys, key) }
}

// tunes is for kindsThat: those whose program takes a key of switch.
func tunes(key string) func(*LinkDescriptor) bool {
	return func(d *LinkDescriptor) bool { return hasProgram(d) && slices.Contains(d.Program.Keys, key) }
}
