package dra

import (
	"cmp"
	"slices"

	resource "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/deviceattribute"
	"k8s.io/dynamic-resource-allocation/resourceslice"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/host"
)

// Domain is the domain of the attributes: device.attributes["nines.dev"].tier.
const Domain = "nines.dev/"

// Pool returns the pool of a node's ports. Ports that were measured to be slow come first: the scheduler takes
// the first match, so the fast ones stay free for pods that need them. A port is left out if the node lacks
// its parent, or a feature that it needs; missing lists what the node lacks.
func Pool(inv Inventory, node *host.Inventory, latencies map[string]Latency) (pool resourceslice.Pool, missing []string) {
	functions := functionsOf(node, false)
	cards := map[string]host.NIC{}
	for _, nic := range node.NICs {
		cards[nic.Name] = nic
	}
	var offers []offer
	for _, o := range inv.offers() {
		p := o.Port
		_, there := cards[p.Parent]
		there = there || !p.OnDevice()
		lacks := p.Parent
		if there && p.IsFunction() {
			_, there = functions[functionOf(p)]
			lacks = "virtual functions of " + p.Parent
		}
		for _, need := range p.Needs() {
			if node.Feature(need).State == host.StateNo {
				there, lacks = false, need
			}
		}
		if there && p.Mbit > 0 && o.share == nil && inv.bandwidth(p, cards) == 0 {
			there, lacks = false, "a known bandwidth of "+p.Parent+" (links in the ports file)"
		}
		switch {
		case there:
			offers = append(offers, o)
		case !slices.Contains(missing, lacks):
			missing = append(missing, lacks)
		}
	}
	slices.Sort(missing)
	slices.SortFunc(offers, func(a, b offer) int {
		return cmp.Or(
			-cmp.Compare(slowness(latencies[string(a.Tier)]), slowness(latencies[string(b.Tier)])),
			cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Parent, b.Parent),
			cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	most := resource.ResourceSliceMaxDevices
	if sets := inv.counters(offers, cards); len(sets) > 0 {
		for chunk := range slices.Chunk(sets, resource.ResourceSliceMaxCounterSets) {
			pool.Slices = append(pool.Slices, resourceslice.Slice{SharedCounters: chunk})
		}
		most = resource.ResourceSliceMaxDevicesWithAdvancedFeatures
	}
	for chunk := range slices.Chunk(offers, most) {
		slice := resourceslice.Slice{}
		for _, o := range chunk {
			var card host.NIC
			if o.OnDevice() {
				card = cards[o.Parent]
			}
			d := device(o.Port, card, functions[functionOf(o.Port)], latencies[string(o.Tier)])
			o.count(&d)
			slice.Devices = append(slice.Devices, d)
		}
		pool.Slices = append(pool.Slices, slice)
	}
	if len(pool.Slices) == 0 {
		// The driver runs, but the node has no ports.
		pool.Slices = []resourceslice.Slice{{}}
	}
	return pool, missing
}

// function identifies a virtual function.
type function struct {
	card  string
	index int
}

func functionOf(p port.Port) function { return function{p.Parent, p.Function} }

// functionsOf returns the PCI addresses of a node's virtual functions: all, or only those that nothing but
// pods uses.
func functionsOf(node *host.Inventory, all bool) map[function]string {
	addresses := map[function]string{}
	for _, f := range node.Functions {
		for _, vf := range f.VFs {
			if all || vf.UsedBy == "" || vf.Lab == port.FunctionUser {
				addresses[function{f.Interface, vf.Index}] = vf.Address
			}
		}
	}
	return addresses
}

// slowness orders tiers. An unmeasured tier may be slow.
func slowness(l Latency) int64 {
	for _, percentile := range []string{"99", "50"} {
		if ns, known := l.Ns[attributeOf(percentile)]; known {
			return ns
		}
	}
	return 1<<63 - 1
}

// device is a port as the scheduler sees it. function is its own PCI address; empty for none.
func device(p port.Port, card host.NIC, function string, l Latency) resource.Device {
	attributes := map[resource.QualifiedName]resource.DeviceAttribute{
		Domain + "tier": text(string(p.Tier)), Domain + "kind": text(p.Kind()),
	}
	if !p.IsSocket() { // of a card, a bridge or a logical switch
		attributes[Domain+"parent"] = text(p.Parent)
	}
	mtu := int64(p.MTU)
	if mtu == 0 {
		mtu = int64(card.MTU)
	}
	if mtu > 0 {
		attributes[Domain+"mtu"] = number(mtu)
	}
	if card.SpeedMbit > 0 {
		attributes[Domain+"speedMbit"] = number(int64(card.SpeedMbit))
	}
	if p.AFXDP {
		attributes[Domain+"afXDP"] = resource.DeviceAttribute{BoolValue: &p.AFXDP}
	}
	if p.VLAN > 0 {
		attributes[Domain+"vlan"] = number(int64(p.VLAN))
	}
	if card.PCIAddress != "" {
		attributes[deviceattribute.StandardDeviceAttributePCIBusID] = text(cmp.Or(function, card.PCIAddress))
		if card.NUMANode >= 0 {
			attributes[deviceattribute.StandardDeviceAttributeNUMANode] = number(int64(card.NUMANode))
		}
	}
	l.tell(attributes)
	return resource.Device{Name: p.Name, Attributes: attributes}
}

func text(s string) resource.DeviceAttribute  { return resource.DeviceAttribute{StringValue: &s} }
func number(n int64) resource.DeviceAttribute { return resource.DeviceAttribute{IntValue: &n} }
