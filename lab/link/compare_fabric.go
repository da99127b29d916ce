package link

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
)

// FabricOptions is what the check of a link knows about it besides the plan.
type FabricOptions struct {
	// Set are the recorded values of a device of the link.
	Set func(device string) map[string]string
	// Cut is true while an event of a trial, or nines itself, has the link down.
	Cut bool
	// Management is the plan's, for the management network.
	Management *plan.Management
}

// FabricDifferences says how a link's devices outside its nodes are not as planned: names, MTU, up,
// bridge, queueing disciplines, offloads and XDP programs. It is pure.
func (v *View) FabricDifferences(l plan.Link, o FabricOptions) []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	ends := l.Endpoints
	if l.Management {
		ends = append(slices.Clone(ends), plan.Endpoint{FabricDevice: o.Management.Port})
	}
	if bridge := v.Find(l.Device); bridge != nil && l.Switch == nil {
		for _, problem := range bridge.bridgeDifferences(l, o) {
			add("%s %s %s", l.Kind.Descriptor().Device, l.Device, problem)
		}
	}
	ids := map[uint32]bool{}
	for _, e := range ends {
		if e.FabricDevice == "" {
			continue
		}
		of := "the fabric's end " + e.FabricDevice
		if e.Node != "" {
			of += " of " + e.Name()
		}
		d := v.Find(e.FabricDevice)
		if d == nil {
			add("%s is gone", of)
			continue
		}
		for _, problem := range d.endDifferences(l, e, o) {
			add("%s %s", of, problem)
		}
		if kinds[l.Kind].Redirects && !l.Impaired() {
			if problem := v.xdpDifference(l, e, d.XDP); problem != "" {
				add("%s %s", of, problem)
			} else {
				ids[d.XDP.ID] = true
			}
		}
	}
	// Each of a pair's programs has its own map; those of a learning switch share one.
	if len(l.Endpoints) > 2 && len(ids) > 1 {
		add("its ends have %d different XDP programs, and one switch is planned", len(ids))
	}
	return list
}

// endDifferences compares an end of the fabric's.
func (s *Seen) endDifferences(l plan.Link, e plan.Endpoint, o FabricOptions) []string {
	var list []string
	if !s.Up && !o.Cut {
		list = append(list, "is down")
	}
	if s.MTU != l.MTU {
		list = append(list, fmt.Sprintf("has an MTU of %d, and %d is planned", s.MTU, l.MTU))
	}
	if kinds[l.Kind].Bridged && s.Master != l.Device {
		where := "in no bridge"
		if s.Master != "" {
			where = "in " + s.Master
		}
		list = append(list, fmt.Sprintf("is %s, and not in %s as planned", where, l.Device))
	}
	// What a program has between the ends is its own business, but for the kernel's.
	want := End{XDP: !kinds[l.Kind].KernelOnly, Free: l.Switch != nil && !l.HasEngine()}
	if !e.Guest {
		want.Set = o.Set(e.FabricDevice)
	}
	want.Filtered = l.Management && o.Set(e.FabricDevice)["sources"] == sourcesChecked
	for _, d := range s.Differences(want) {
		list = append(list, d.Problem)
	}
	if l.HasEngine() && e.Attach == plan.AttachVeth && l.MTU+ethernetBytes <= xdpFrameBytes && s.XDP == nil {
		list = append(list, "has lost the XDP program through which the switch receives")
	}
	return list
}

// bridgeDifferences compares a bridge, or the private parent of macvlans.
func (s *Seen) bridgeDifferences(l plan.Link, o FabricOptions) []string {
	var list []string
	if s.MTU != l.MTU {
		list = append(list, fmt.Sprintf("has an MTU of %d, and %d is planned", s.MTU, l.MTU))
	}
	for _, d := range s.Differences(End{Set: o.Set(l.Device)}) {
		list = append(list, d.Problem)
	}
	bridge, is := s.link.(*netlink.Bridge)
	if !is {
		return list
	}
	if on := bridge.MulticastSnooping; on != nil && *on {
		list = append(list, "has multicast snooping on, which was set off")
	}
	if on := bridge.VlanFiltering; on != nil && *on {
		list = append(list, "filters VLANs, which it did not")
	}
	if ageing := bridge.AgeingTime; ageing != nil && *ageing != bridgeAgeingSeconds*100 {
		list = append(list, fmt.Sprintf("forgets addresses after %d s, and %d s were set", *ageing/100, bridgeAgeingSeconds))
	}
	return list
}

// xdpDifference compares the program at an end of an xdp link, and where it leads.
func (v *View) xdpDifference(l plan.Link, e plan.Endpoint, now *XDP) string {
	name, targets := "pair", []string{}
	for _, other := range l.Endpoints {
		if len(l.Endpoints) > 2 || other.Name() != e.Name() {
			targets = append(targets, other.FabricDevice)
		}
	}
	if len(l.Endpoints) > 2 {
		name = "learning_switch"
	}
	switch {
	case now == nil:
		return "has lost its XDP program"
	case now.Name != name:
		return fmt.Sprintf("has the XDP program %s (id %d), and %s is planned", now.Name, now.ID, name)
	case !now.Native:
		return "has its XDP program in generic mode, and it was native"
	}
	var lost []string
	for _, target := range targets {
		if index, has := v.indexes[target]; has && !slices.Contains(now.targets, uint32(index)) {
			lost = append(lost, target)
		}
	}
	if len(lost) > 0 {
		return "has an XDP program that no longer leads to " + strings.Join(lost, ", ")
	}
	return ""
}

// Filtered is true where the packets of a link that is a bridge go through the tables of iptables in a
// holder's namespace: someone has loaded br_netfilter since, which starts with that on.
func Filtered(h Holder, l plan.Link) (filtered bool, err error) {
	if !kinds[l.Kind].Bridged {
		return false, nil
	}
	return filtered, inside(h, func(ns *netns.Namespace, _ *netlink.Handle) error {
		return ns.Do(func() error {
			for _, table := range netfilterTables {
				on, err := netns.ReadSysctl(bridgeFilter + table)
				if err != nil && !isNoSysctl(err) {
					return err
				}
				filtered = filtered || on == "1"
			}
			return nil
		})
	})
}
