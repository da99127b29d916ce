package link

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// engineProgram is the XDP program of the engine's own AF_XDP ports (engine/port/filter.bpf.c). The streams
// of a measurement load and remove it, and several share a lab, so no plan of a lab says where it is.
const engineProgram = "nines_redirect"

// End is what is planned of a device besides its name, addresses and MTU.
type End struct {
	// Interface is the node's; nil for an end in the fabric.
	Interface *plan.Interface
	// Set are the values that nines recorded when it set the device up; nil where others have changed
	// them since with good reason, as QEMU does those of a tap.
	Set map[string]string
	// Impaired is what netem does to what the end sends; nil: nothing.
	Impaired *spec.Impairment
	// Free is true where the experiment itself may change queueing disciplines, offloads, programs and neighbours,
	// by commands or scripts in the node.
	Free bool
	// Filtered is true for a port whose packets nines filters.
	Filtered bool
	// XDP is true where a program of DPDK, of a switch or of a cut may be attached.
	XDP bool
	// OwnIPv6 is true where the file itself turns IPv6 on or off, by a sysctl.
	OwnIPv6 bool
	// Macvlan is true for a macvlan.
	Macvlan bool
}

// Repair is what mends a difference.
type Repair int

// RepairSettings is Site.Configure; RepairDevice is another device.
const (
	RepairSettings Repair = iota
	RepairDevice
)

// Difference is how a device is not as planned.
type Difference struct {
	Problem string
	Repair  Repair
}

// Differences says how a device is not as planned; it is pure. The caller has compared what Device has.
func (s *Seen) Differences(want End) []Difference {
	var list []Difference
	add := func(repair Repair, format string, args ...any) {
		list = append(list, Difference{fmt.Sprintf(format, args...), repair})
	}
	if problem := s.compareQdiscs(want); problem != "" {
		add(RepairDevice, "%s", problem)
	}
	if s.XDP != nil && s.XDP.Name != engineProgram && !want.XDP && !want.Free {
		add(RepairDevice, "has the XDP program %s attached (id %d), and none is planned", s.XDP.Name, s.XDP.ID)
	}
	if macvlan, is := s.link.(*netlink.Macvlan); want.Macvlan && (!is || macvlan.Mode != netlink.MACVLAN_MODE_BRIDGE) {
		add(RepairDevice, "is no longer a macvlan in bridge mode")
	}
	if was := want.Set[gsoMaxSegs]; was != "" && !want.Free && was != fmt.Sprint(s.link.Attrs().GSOMaxSegs) {
		add(RepairDevice, "has gso_max_segs %d, and %s was set", s.link.Attrs().GSOMaxSegs, was)
	}
	if !want.Free {
		for _, feature := range offloadsOff {
			was, now := want.Set[feature.Name], s.offloads[feature.Name]
			// A veth with an XDP program has GRO on by itself (veth_enable_xdp_range in
			// drivers/net/veth.c).
			if was == "" || now == "" || was == now || feature.Feature == featureGRO && now == onOff(true) {
				continue
			}
			add(RepairSettings, "has %s %s, but was set to %s", feature.Name, now, was)
		}
	}
	if want.Interface == nil {
		return list
	}
	if alias := want.Interface.Alias; alias != "" && !want.Free && alias != s.link.Attrs().Alias {
		add(RepairSettings, "has lost its alias %s, the file's name", alias)
	}
	for _, n := range want.Interface.Neighbours {
		// DPDK sets a device of the kernel down when it closes it, and the kernel then forgets
		// neighbours, which its frames do not need.
		if want.Interface.Device != nil {
			continue
		}
		switch mac := s.permanent(n.IP); {
		case mac != "" && strings.EqualFold(mac, n.MAC): // a device's parameters may write it in capitals
		case mac != "" && !want.Free:
			add(RepairSettings, "has the MAC address %s for its neighbour %s, which has %s", mac, n.IP, n.MAC)
		case !want.Free: // as a routing daemon replaces permanent entries by its own
			add(RepairSettings, "has lost its neighbour %s (%s)", n.IP, n.MAC)
		}
	}
	if off := ipv6Off(*want.Interface); !want.Free && !want.OwnIPv6 && s.ipv6Off != "" && s.ipv6Off != off {
		add(RepairSettings, "has disable_ipv6=%s, and %s was set", s.ipv6Off, off)
	}
	return list
}

// ipv6Off is the sysctl disable_ipv6 of an interface.
func ipv6Off(i plan.Interface) string {
	if slices.ContainsFunc(i.Addresses, isIPv6) {
		return "0"
	}
	return "1"
}

func isIPv6(prefix string) bool { return strings.Contains(prefix, ":") }

// permanent is the MAC address of a device's permanent neighbour; empty if there is none.
func (s *Seen) permanent(ip string) string {
	wanted := net.ParseIP(ip)
	for _, has := range s.neighbours {
		if has.IP.Equal(wanted) {
			return has.HardwareAddr.String()
		}
	}
	return ""
}

// usual are the queueing disciplines that the kernel gives devices by itself (net.core.default_qdisc and
// drivers/net), which treat all packets alike.
var usual = []string{"noqueue", "noop", "mq", "pfifo_fast", "pfifo", "fq_codel", "fq"}

// handleClsact is the parent of what sees packets that a device receives (TC_H_INGRESS, and clsact's).
const handleClsact = netlink.HANDLE_INGRESS

// compareQdiscs compares what a device's packets are queued by. It is pure.
func (s *Seen) compareQdiscs(want End) string {
	var root netlink.Qdisc
	filtered := false
	for _, q := range s.qdiscs {
		switch q.Attrs().Parent {
		case netlink.HANDLE_ROOT:
			root = q
		case handleClsact:
			filtered = true
			if !want.Free && !want.Filtered {
				return fmt.Sprintf("has filters of packets (tc qdisc %s), and none are planned", q.Type())
			}
		}
	}
	if want.Filtered && !filtered {
		return "has lost the program that drops what comes from foreign addresses"
	}
	if want.Impaired == nil {
		if root == nil || want.Free || slices.Contains(usual, root.Type()) {
			return ""
		}
		return fmt.Sprintf("has the queueing discipline %s, and none is planned", root.Type())
	}
	now, is := root.(*netlink.Netem)
	if !is {
		return fmt.Sprintf("has lost its impairment (%s): the kernel's netem is gone", *want.Impaired)
	}
	planned, had := *netemOf(0, *want.Impaired), *now
	planned.QdiscAttrs, had.QdiscAttrs = netlink.QdiscAttrs{}, netlink.QdiscAttrs{}
	if planned != had {
		return fmt.Sprintf("has another impairment than %s, as planned", *want.Impaired)
	}
	return ""
}

// LostRoutes are the routes of a node that its namespace lacks. It is pure.
func (v *View) LostRoutes(planned []spec.Route) []spec.Route {
	var lost []spec.Route
	for _, r := range planned {
		if !v.has(r) {
			lost = append(lost, r)
		}
	}
	return lost
}

func (v *View) has(r spec.Route) bool {
	return slices.ContainsFunc(v.routes[destination(r)], func(has netlink.Route) bool { return v.is(has, r) })
}

// is true for a route of the kernel that a file's asks for; both lead to the same.
func (v *View) is(has netlink.Route, r spec.Route) bool {
	return has.Type == unix.RTN_UNICAST &&
		(r.Via == "" || has.Gw.Equal(net.ParseIP(r.Via))) && (r.Via != "" || has.Gw == nil) &&
		(r.Interface == "" || has.LinkIndex == v.indexes[r.Interface])
}

// destination is where a route of a file leads; zero for one that is none.
func destination(r spec.Route) netip.Prefix {
	to := r.To
	switch {
	case to == "default" && isIPv6(r.Via):
		to = "::/0"
	case to == "default":
		to = "0.0.0.0/0"
	}
	prefix, _ := netip.ParsePrefix(to)
	return prefix.Masked()
}

// routePrefix is where a route of the kernel leads. Which library version gives a default route a
// destination differs.
func routePrefix(r netlink.Route) netip.Prefix {
	switch {
	case r.Dst != nil:
		return prefixOf(r.Dst)
	case r.Family == netlink.FAMILY_V6:
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
}

// LostNetworks are the networks of an interface's addresses that the kernel has no route to there, though
// it made one with each address. One that a planned route is to, that has. It is pure.
func (v *View) LostNetworks(i plan.Interface, planned []spec.Route) []string {
	var lost []string
	for _, address := range i.Addresses {
		prefix, err := netip.ParsePrefix(address)
		if err != nil || prefix.IsSingleIP() {
			continue
		}
		to := prefix.Masked()
		if slices.ContainsFunc(planned, func(r spec.Route) bool { return destination(r) == to }) {
			continue
		}
		if !v.has(spec.Route{To: to.String(), Interface: i.Name}) {
			lost = append(lost, to.String())
		}
	}
	return lost
}
