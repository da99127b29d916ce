package dra

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
)

// Source is an entry of the ports file: a number of ports of one tier.
type Source struct {
	Tier spec.LinkKind `json:"tier"`
	// Parent is the card, the bridge or the logical switch of the ports. Ports of the node's switch and of
	// memory have none.
	Parent string `json:"parent,omitempty"`
	// Count is the number of ports, and First the number of the first; 0 is 1. So several sources may have
	// ports of one parent.
	Count int `json:"count"`
	First int `json:"first,omitempty"`
	// Addresses has the address of the first port, with its prefix length; the other ports have the addresses
	// after it. Without it, a port's claim names addresses, or the port has none.
	Addresses netip.Prefix `json:"addresses,omitzero"`
	// MTU of the ports; 0 is the parent's.
	MTU int `json:"mtu,omitempty"`
	// VLAN of virtual functions, which their card adds and strips; 0 for none.
	VLAN int `json:"vlan,omitempty"`
	// VLANs are those that a claim may choose instead.
	VLANs []int `json:"vlans,omitempty"`
	// Driver is vfio-pci for virtual functions with a userspace driver in the pod; empty for the kernel's
	// driver.
	Driver spec.ProgramDriver `json:"driver,omitempty"`
	// AFXDP gives each interface a map for AF_XDP sockets; see port.Port.
	AFXDP bool `json:"afXDP,omitempty"`
	// Nodes are the nodes that have them; none means all.
	Nodes []string `json:"nodes,omitempty"`
	// Database is the socket of Open vSwitch's database; empty is port.OVSDatabase.
	Database string `json:"database,omitempty"`
	// Northbound is where OVN's northbound database listens; empty is port.OVNDatabase.
	Northbound string `json:"northbound,omitempty"`
	// CPUs are where a switch polls; none means wherever the kernel runs it.
	CPUs []int `json:"cpus,omitempty"`
	// Mbit is what each port takes of its parent's bandwidth, in Mbit/s; 0 if it is not counted.
	Mbit int64 `json:"mbit,omitempty"`
	// Shared makes one device of all ports. Each claim requests a part of its capacity, and Count is the
	// maximum number of claims.
	Shared *Capacity `json:"shared,omitempty"`
}

// Link is the bandwidth that the ports of a parent may use together.
type Link struct {
	Parent string `json:"parent"`
	// Mbit is in Mbit/s; a card without a link entry has its own speed.
	Mbit int64 `json:"mbit"`
	// Nodes are the nodes that have it; none means all.
	Nodes []string `json:"nodes,omitempty"`
}

// Sources is the content of a ports file.
type Sources struct {
	Ports []Source `json:"ports"`
	Links []Link   `json:"links,omitempty"`
}

// MaxPorts is how many ports one source may have on a node: more than any card has functions.
const MaxPorts = 1024

// Inventory is what a node offers.
type Inventory struct {
	// Ports by their names.
	Ports map[string]port.Port
	// Shares by the names of their devices.
	Shares map[string]Share
	// Links has what the ports of a parent may use together, in Mbit/s, if the file says so.
	Links map[string]int64
	// VLANs that claims may choose, by the names of ports.
	VLANs map[string][]int
	// Switch is true if some are ports of the node's switch, which polls on CPUs.
	Switch bool
	CPUs   []int
}

// ReadSources reads a ports file.
func ReadSources(text []byte) (file Sources, err error) {
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return file, exit.Wrongf("the ports file: %w", err)
	}
	return file, nil
}

// InventoryOf returns what a node offers according to the sources. socket is the control socket of its switch.
func InventoryOf(sources Sources, node, socket string) (Inventory, error) {
	all := Inventory{Ports: map[string]port.Port{}, Shares: map[string]Share{}, Links: map[string]int64{}, VLANs: map[string][]int{}}
	for i, l := range sources.Links {
		if !has(l.Nodes, node) {
			continue
		}
		if _, twice := all.Links[l.Parent]; twice || l.Parent == "" || l.Mbit < 1 {
			return all, exit.Wrongf("the ports file, link %d: list each parent once, with 1 Mbit/s or more (%q, %d)", i+1, l.Parent, l.Mbit)
		}
		all.Links[l.Parent] = l.Mbit
	}
	for i, s := range sources.Ports {
		if !has(s.Nodes, node) {
			continue
		}
		if err := all.add(s, socket); err != nil {
			return all, exit.Wrongf("the ports file, entry %d: %w", i+1, err)
		}
	}
	if err := all.checkLinks(); err != nil {
		return all, exit.Wrongf("the ports file: %w", err)
	}
	return all, nil
}

// has reports whether a node is in a list; an empty list means all nodes.
func has(nodes []string, node string) bool { return len(nodes) == 0 || slices.Contains(nodes, node) }

func (all *Inventory) add(s Source, socket string) error {
	if s.Count < 1 || s.Count > MaxPorts {
		return fmt.Errorf("count %d is not allowed; use 1 to %d", s.Count, MaxPorts)
	}
	first := max(s.First, 1)
	if s.First < 0 || first > MaxPorts || s.First > 0 && s.Shared != nil {
		return fmt.Errorf("first %d is not allowed; use the number of the first port, 1 to %d, or remove it if the ports are shared", s.First, MaxPorts)
	}
	base := port.Port{Tier: s.Tier, Parent: s.Parent, MTU: s.MTU, VLAN: s.VLAN, Driver: s.Driver, AFXDP: s.AFXDP, Mbit: s.Mbit}
	if base.IsSocket() && s.Addresses.IsValid() || base.IsSocket() && !base.InOVS() && s.Parent != "" {
		return fmt.Errorf("sockets (%s) have no addresses, and those of the node's switch and of memory have no parent: remove these keys", s.Tier)
	}
	if s.Database != "" && (!base.InOVS() || !filepath.IsAbs(s.Database)) {
		return fmt.Errorf("database %q: only ports of Open vSwitch and OVN have one, as the absolute path of its socket (%s)", s.Database, port.OVSDatabase)
	}
	if s.Northbound != "" && !base.InOverlay() {
		return fmt.Errorf("northbound %q: only OVN has such a database: remove the key", s.Northbound)
	}
	if s.Driver != "" && (s.Addresses.IsValid() || s.MTU != 0) {
		return fmt.Errorf("a program with a userspace driver sets its function's addresses and MTU itself: remove addresses and mtu")
	}
	if base.IsShared() && s.MTU != 0 {
		return fmt.Errorf("the pods that share memory choose their packet size themselves: remove mtu")
	}
	if len(s.VLANs) > 0 && !base.IsFunction() {
		return fmt.Errorf("only virtual functions of a card can have vlans: remove the key")
	}
	for _, vlan := range s.VLANs {
		choice := base
		choice.VLAN, choice.Name = vlan, "check"
		if err := choice.Check(); err != nil || vlan == 0 {
			return cmp.Or(err, errors.New("vlans: 0 is not a VLAN; use 1 to 4094"))
		}
	}
	if len(s.CPUs) > 0 && !base.InSwitch() {
		return fmt.Errorf("only a switch has cpus: remove the key")
	}
	if base.InOverlay() {
		base.Northbound, base.MTU = cmp.Or(s.Northbound, port.OVNDatabase), cmp.Or(s.MTU, port.OverlayMTU)
	}
	switch {
	case base.InOVS():
		base.Socket = cmp.Or(s.Database, port.OVSDatabase)
	case base.IsShared():
		base.Parent = port.MemoryParent
	case base.InSwitch():
		if all.Switch {
			return fmt.Errorf("a node has one switch: list its ports in one entry")
		}
		base.Parent, base.Socket = port.SwitchParent, socket
		all.Switch, all.CPUs = true, s.CPUs
	}
	if s.Shared != nil {
		return all.addShare(s, base)
	}
	address := s.Addresses.Addr()
	for i := range s.Count {
		p := base
		p.Name = base.NumberedName(first + i)
		if p.IsFunction() {
			p.Function = port.FunctionOf(p.Name)
		}
		if s.Addresses.IsValid() {
			if !s.Addresses.Contains(address) {
				return fmt.Errorf("addresses %s: the network has no address for port %d; use fewer ports, or a larger network", s.Addresses, i+1)
			}
			p.Addresses = []netip.Prefix{netip.PrefixFrom(address, s.Addresses.Bits())}
			address = address.Next()
		}
		if err := p.Check(); err != nil {
			return err
		}
		if all.knows(p.Name) {
			return fmt.Errorf("port %s already exists: list the ports of %s in one entry, or number these after those of the other entry (first)", p.Name, s.Parent)
		}
		all.Ports[p.Name] = p
		if len(s.VLANs) > 0 {
			all.VLANs[p.Name] = s.VLANs
		}
	}
	return nil
}

// Cards returns the cards whose virtual functions the node offers, sorted.
func (all Inventory) Cards() []string {
	var list []string
	for _, p := range all.all() {
		if p.IsFunction() {
			list = append(list, p.Parent)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// without returns the inventory without some of the ports.
func (all Inventory) without(some func(port.Port) bool) Inventory {
	rest := all
	rest.Ports, rest.Shares = maps.Clone(all.Ports), maps.Clone(all.Shares)
	maps.DeleteFunc(rest.Ports, func(_ string, p port.Port) bool { return some(p) })
	maps.DeleteFunc(rest.Shares, func(_ string, s Share) bool { return some(s.Base) })
	return rest
}

// knows reports whether a device already has a name.
func (all Inventory) knows(name string) bool {
	_, port := all.Ports[name]
	_, share := all.Shares[name]
	return port || share
}

// all returns the ports, and the template of each share.
func (all Inventory) all() []port.Port {
	list := slices.Collect(maps.Values(all.Ports))
	for _, s := range all.Shares {
		list = append(list, s.Base)
	}
	return list
}
