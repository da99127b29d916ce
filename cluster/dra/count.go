package dra

import (
	"cmp"
	"slices"

	resource "k8s.io/api/resource/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/host"
)

// offer is a published device: a port, or a device that several claims share.
type offer struct {
	port.Port
	share *Share
}

// offers returns everything that a node offers.
func (all Inventory) offers() []offer {
	var list []offer
	for _, p := range all.Ports {
		list = append(list, offer{Port: p})
	}
	for _, s := range all.Shares {
		list = append(list, offer{Port: s.Base, share: &s})
	}
	return list
}

// mbitCounter is the counter of a link's bandwidth.
const mbitCounter = "mbit"

// linkCounters is the name of the counter set of a port's parent.
func linkCounters(p port.Port) string { return "link-" + p.ParentLabel() }

// bandwidth returns what the ports of a parent may use together, in Mbit/s; 0 if it is unknown.
func (all Inventory) bandwidth(p port.Port, cards map[string]host.NIC) int64 {
	var speed int64
	if p.OnDevice() {
		speed = int64(cards[p.Parent].SpeedMbit)
	}
	return cmp.Or(all.Links[p.Parent], max(speed, 0))
}

// counters returns the counter sets of the links whose ports use a part of the bandwidth, over all tiers.
func (all Inventory) counters(offers []offer, cards map[string]host.NIC) []resource.CounterSet {
	var sets []resource.CounterSet
	for _, o := range offers {
		name := linkCounters(o.Port)
		if o.share != nil || o.Mbit == 0 || slices.ContainsFunc(sets, func(s resource.CounterSet) bool { return s.Name == name }) {
			continue
		}
		sets = append(sets, resource.CounterSet{Name: name, Counters: counted(all.bandwidth(o.Port, cards))})
	}
	slices.SortFunc(sets, func(a, b resource.CounterSet) int { return cmp.Compare(a.Name, b.Name) })
	return sets
}

func counted(mbit int64) map[string]resource.Counter {
	return map[string]resource.Counter{mbitCounter: {Value: amount(mbit)}}
}

func amount(n int64) quantity.Quantity { return *quantity.NewQuantity(n, quantity.DecimalSI) }

// count sets what a device uses of its link, or what the claims that share it may use.
func (o offer) count(d *resource.Device) {
	d.Capacity = map[resource.QualifiedName]resource.DeviceCapacity{}
	if o.share == nil {
		if o.Mbit > 0 {
			d.Capacity[capacityMbit] = resource.DeviceCapacity{Value: amount(o.Mbit)}
			d.ConsumesCounters = []resource.DeviceCounterConsumption{{CounterSet: linkCounters(o.Port), Counters: counted(o.Mbit)}}
		}
		return
	}
	yes, one := true, amount(1)
	d.AllowMultipleAllocations = &yes
	for name, total := range o.share.amounts() {
		// A claim that names no amount gets an equal part.
		equal := amount(max(1, total/int64(o.share.Count)))
		d.Capacity[name] = resource.DeviceCapacity{Value: amount(total), RequestPolicy: &resource.CapacityRequestPolicy{
			Default: &equal, ValidRange: &resource.CapacityRequestPolicyRange{Min: &one},
		}}
	}
	d.Capacity[capacityPorts] = resource.DeviceCapacity{Value: amount(int64(o.share.Count)), RequestPolicy: &resource.CapacityRequestPolicy{
		Default: &one, ValidValues: []quantity.Quantity{one},
	}}
}
