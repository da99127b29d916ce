package dra

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	resource "k8s.io/api/resource/v1"

	"nines.dev/nines/cluster/port"
)

// Capacity is what packets can be carried at a time.
type Capacity struct {
	// Mbit is in Mbit/s, and PPS in packets per second; 0 where nobody counts them.
	Mbit int64 `json:"mbit,omitempty"`
	PPS  int64 `json:"pps,omitempty"`
}

// Names of capacities. Those of a device that several share are divided among them.
const (
	capacityMbit  = Domain + "mbit"
	capacityPPS   = Domain + "pps"
	capacityPorts = Domain + "ports"
)

// amounts are those of the capacities that are counted.
func (c Capacity) amounts() map[resource.QualifiedName]int64 {
	all := map[resource.QualifiedName]int64{}
	if c.Mbit > 0 {
		all[capacityMbit] = c.Mbit
	}
	if c.PPS > 0 {
		all[capacityPPS] = c.PPS
	}
	return all
}

// Share is a device that several claims have, each for the part of its capacity that it asks for. Each
// part is a port of its own.
type Share struct {
	Capacity
	// Base is what each of the ports is like. Its name is that of the device.
	Base port.Port
	// Count is how many there may be, and Addresses has that of the first, as in a Source.
	Count     int
	Addresses netip.Prefix
}

// addShare adds a device that several claims have.
func (all *Inventory) addShare(s Source, base port.Port) error {
	switch {
	case base.IsFunction() || base.IsShared():
		return fmt.Errorf("a port of %s is of one claim: leave shared out", s.Tier)
	case s.Mbit != 0:
		return fmt.Errorf("mbit is what each port takes, and of a device that is shared the claims say it: leave mbit out")
	case s.Shared.Mbit < 0 || s.Shared.PPS < 0 || s.Shared.Mbit+s.Shared.PPS == 0:
		return fmt.Errorf("shared: give what all together can have, as mbit or pps or both")
	}
	last := s.Addresses.Addr()
	for i := 1; i < s.Count && last.IsValid(); i++ {
		last = last.Next()
	}
	if s.Addresses.IsValid() && !s.Addresses.Contains(last) {
		return fmt.Errorf("addresses %s: the network has none for port %d; give fewer ports, or a larger network", s.Addresses, s.Count)
	}
	base.Name = base.GroupName()
	share := Share{Capacity: *s.Shared, Base: base, Count: s.Count, Addresses: s.Addresses}
	if err := share.named(strings.Repeat("0", shareBytes)).Check(); err != nil {
		return err
	}
	if all.knows(base.Name) {
		return fmt.Errorf("there is a device %s already: give the ports of %s in one entry", base.Name, s.Parent)
	}
	all.Shares[base.Name] = share
	return nil
}

// shareBytes is how much of the ID of a share is in the name of its port, which has 63 bytes at most.
const shareBytes = 12

// named is the port of a share.
func (s Share) named(id string) port.Port {
	p := s.Base
	p.Name += "-" + strings.ReplaceAll(id, "-", "")[:shareBytes]
	return p
}

// part is the port that an allocation has of a share. held are the ports that are held: an address that one of
// them has is not given to another.
func (s Share) part(result resource.DeviceRequestAllocationResult, held []port.Held, more []port.Order) (port.Port, error) {
	if result.ShareID == nil || len(strings.ReplaceAll(string(*result.ShareID), "-", "")) < shareBytes {
		return port.Port{}, fmt.Errorf("device %s is for several claims, and the scheduler has given no share of it: Kubernetes before 1.36 needs the feature gate DRAConsumableCapacity", result.Device)
	}
	p := s.named(string(*result.ShareID))
	taken := map[netip.Prefix]bool{}
	note := func(o port.Order) bool {
		if o.Port.Name == p.Name {
			p = o.Port // an earlier call has made it
			return true
		}
		for _, a := range o.Port.Addresses {
			taken[a] = true
		}
		return false
	}
	for _, h := range held {
		if note(h.Order) {
			return p, nil
		}
	}
	for _, o := range more {
		note(o)
	}
	p.Mbit, p.PPS = consumed(result, capacityMbit), consumed(result, capacityPPS)
	if !s.Addresses.IsValid() {
		return p, nil
	}
	address := s.Addresses.Addr()
	for range s.Count {
		if one := netip.PrefixFrom(address, s.Addresses.Bits()); !taken[one] {
			p.Addresses = []netip.Prefix{one}
			return p, nil
		}
		address = address.Next()
	}
	return p, fmt.Errorf("device %s: all its %d addresses are held; one becomes free when a pod that has one ends", result.Device, s.Count)
}

// consumed is what an allocation takes of a capacity.
func consumed(result resource.DeviceRequestAllocationResult, name resource.QualifiedName) int64 {
	amount := result.ConsumedCapacity[name]
	return amount.Value()
}

// checkLinks refuses a link whose ports would not know of each other.
func (all Inventory) checkLinks() error {
	counted := map[string]string{}
	for _, p := range all.Ports {
		if p.Mbit < 0 {
			return fmt.Errorf("port %s: mbit %d: give 1 or more, or leave it out", p.Name, p.Mbit)
		}
		if p.Mbit == 0 {
			continue
		}
		if total, known := all.Links[p.Parent]; known && p.Mbit > total {
			return fmt.Errorf("port %s takes %d Mbit/s, and all ports of %s together have %d", p.Name, p.Mbit, p.Parent, total)
		}
		if other := cmp.Or(counted[p.ParentLabel()], p.Parent); other != p.Parent {
			return fmt.Errorf("%s and %s are alike in Kubernetes' names: leave mbit out for one of them", min(p.Parent, other), max(p.Parent, other))
		}
		counted[p.ParentLabel()] = p.Parent
	}
	for _, s := range all.Shares {
		if counted[s.Base.ParentLabel()] == s.Base.Parent && s.Mbit > 0 {
			return fmt.Errorf("ports of %s take its bandwidth by mbit and by shared, which do not know of each other: use one of them", s.Base.Parent)
		}
	}
	return nil
}
