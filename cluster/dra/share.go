package dra

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	resource "k8s.io/api/resource/v1"

	"nines.dev/nines/cluster/port"
)

// Capacity is how many packets can be carried per second.
type Capacity struct {
	// Mbit is in Mbit/s, and PPS in packets per second; 0 if it is not counted.
	Mbit int64 `json:"mbit,omitempty"`
	PPS  int64 `json:"pps,omitempty"`
}

// The names of capacities. The capacities of a shared device are divided among its claims.
const (
	capacityMbit  = Domain + "mbit"
	capacityPPS   = Domain + "pps"
	capacityPorts = Domain + "ports"
)

// amounts returns the capacities that are counted.
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

// Share is a device that several claims share, each with the part of its capacity that it requests. Each part
// is a port of its own.
type Share struct {
	Capacity
	// Base is the template of these ports. Its name is the device's.
	Base port.Port
	// Count is the maximum number of ports, and Addresses has the address of the first, as in a Source.
	Count     int
	Addresses netip.Prefix
}

// addShare adds a device that several claims share.
func (all *Inventory) addShare(s Source, base port.Port) error {
	switch {
	case base.IsFunction() || base.IsShared():
		return fmt.Errorf("a port of %s belongs to one claim: remove shared", s.Tier)
	case s.Mbit != 0:
		return fmt.Errorf("mbit is the bandwidth of each port, but the claims of a shared device choose theirs: remove mbit")
	case s.Shared.Mbit < 0 || s.Shared.PPS < 0 || s.Shared.Mbit+s.Shared.PPS == 0:
		return fmt.Errorf("shared: set the total of all claims, as mbit or pps or both")
	}
	last := s.Addresses.Addr()
	for i := 1; i < s.Count && last.IsValid(); i++ {
		last = last.Next()
	}
	if s.Addresses.IsValid() && !s.Addresses.Contains(last) {
		return fmt.Errorf("addresses %s: the network has no address for port %d; use fewer ports, or a larger network", s.Addresses, s.Count)
	}
	base.Name = base.GroupName()
	share := Share{Capacity: *s.Shared, Base: base, Count: s.Count, Addresses: s.Addresses}
	if err := share.named(strings.Repeat("0", shareBytes)).Check(); err != nil {
		return err
	}
	if all.knows(base.Name) {
		return fmt.Errorf("device %s already exists: list the ports of %s in one entry", base.Name, s.Parent)
	}
	all.Shares[base.Name] = share
	return nil
}

// shareBytes is how much of a share's ID is in the name of its port, which has at most 63 bytes.
const shareBytes = 12

// named returns the port of a share.
func (s Share) named(id string) port.Port {
	p := s.Base
	p.Name += "-" + strings.ReplaceAll(id, "-", "")[:shareBytes]
	return p
}

// part returns the port that an allocation has of a share. held are the ports that are held: their addresses
// are not given again.
func (s Share) part(result resource.DeviceRequestAllocationResult, held []port.Held, more []port.Order) (port.Port, error) {
	if result.ShareID == nil || len(strings.ReplaceAll(string(*result.ShareID), "-", "")) < shareBytes {
		return port.Port{}, fmt.Errorf("device %s is shared by several claims, but the scheduler has allocated no share of it: Kubernetes before 1.36 needs the feature gate DRAConsumableCapacity", result.Device)
	}
	p := s.named(string(*result.ShareID))
	taken := map[netip.Prefix]bool{}
	note := func(o port.Order) bool {
		if o.Port.Name == p.Name {
			p = o.Port // an earlier call has created it
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

// consumed returns what an allocation uses of a capacity.
func consumed(result resource.DeviceRequestAllocationResult, name resource.QualifiedName) int64 {
	amount := result.ConsumedCapacity[name]
	return amount.Value()
}

// checkLinks refuses a link whose ports would not be counted together.
func (all Inventory) checkLinks() error {
	counted := map[string]string{}
	for _, p := range all.Ports {
		if p.Mbit < 0 {
			return fmt.Errorf("port %s: mbit %d is not allowed; use 1 or more, or remove it", p.Name, p.Mbit)
		}
		if p.Mbit == 0 {
			continue
		}
		if total, known := all.Links[p.Parent]; known && p.Mbit > total {
			return fmt.Errorf("port %s takes %d Mbit/s, but all ports of %s together have only %d", p.Name, p.Mbit, p.Parent, total)
		}
		if other := cmp.Or(counted[p.ParentLabel()], p.Parent); other != p.Parent {
			return fmt.Errorf("%s and %s get the same name in Kubernetes: remove mbit from one of them", min(p.Parent, other), max(p.Parent, other))
		}
		counted[p.ParentLabel()] = p.Parent
	}
	for _, s := range all.Shares {
		if counted[s.Base.ParentLabel()] == s.Base.Parent && s.Mbit > 0 {
			return fmt.Errorf("ports of %s use its bandwidth by mbit and by shared, which are not counted together: use one of them", s.Base.Parent)
		}
	}
	return nil
}
