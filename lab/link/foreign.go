package link

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// ForeignRoutes are the routes of all tables that neither the plan nor the kernel by itself has made, as text. It is pure.
func (v *View) ForeignRoutes(planned []spec.Route) []string {
	var list []string
	for _, r := range v.everyRoute {
		if !v.foreign(r, planned) {
			continue
		}
		list = append(list, v.text(r))
	}
	return list
}

// foreign is true for a route that someone else has made. Those of the kernel follow from addresses, and from
// advertisements where the file has interfaces follow routers.
func (v *View) foreign(r netlink.Route, planned []spec.Route) bool {
	switch {
	case r.Protocol == unix.RTPROT_KERNEL || r.Protocol == unix.RTPROT_RA || r.Protocol == unix.RTPROT_REDIRECT:
		return false
	case r.Table != unix.RT_TABLE_MAIN || r.Type != unix.RTN_UNICAST:
		return true
	}
	return !slices.ContainsFunc(planned, func(p spec.Route) bool { return destination(p) == routePrefix(r) && v.is(r, p) })
}

// text is a route as ip-route(8) prints it.
func (v *View) text(r netlink.Route) string {
	words := []string{routePrefix(r).String()}
	if routePrefix(r).Bits() == 0 {
		words[0] = "default"
	}
	if kind := nameOfType(r.Type); kind != "" {
		words = append([]string{kind}, words...)
	}
	if r.Gw != nil {
		words = append(words, "via "+r.Gw.String())
	}
	for name, index := range v.indexes {
		if index == r.LinkIndex && r.LinkIndex != 0 {
			words = append(words, "dev "+name)
		}
	}
	if r.Table != unix.RT_TABLE_MAIN {
		words = append(words, fmt.Sprintf("table %d", r.Table))
	}
	return strings.Join(words, " ")
}

// nameOfType is the word of ip-route(8) for routes that lead nowhere, or here; empty for others.
func nameOfType(kind int) string {
	return map[int]string{
		unix.RTN_LOCAL: "local", unix.RTN_BROADCAST: "broadcast", unix.RTN_ANYCAST: "anycast", unix.RTN_MULTICAST: "multicast",
		unix.RTN_BLACKHOLE: "blackhole", unix.RTN_UNREACHABLE: "unreachable", unix.RTN_PROHIBIT: "prohibit", unix.RTN_THROW: "throw", unix.RTN_NAT: "nat",
	}[kind]
}

// usualRules are the rules of routing that a namespace begins with, as "priority table" (fib_default_rules_init in
// net/ipv4/fib_rules.c, fib6_rules_net_init in net/ipv6/fib6_rules.c).
var usualRules = map[int][]string{
	netlink.FAMILY_V4: {"0 255", "32766 254", "32767 253"},
	netlink.FAMILY_V6: {"0 255", "32766 254"},
}

// ForeignRules are the rules of routing that someone has added, as text. It is pure.
func (v *View) ForeignRules() []string {
	var list []string
	for _, r := range v.rules {
		if isForeign(r) {
			list = append(list, r.String())
		}
	}
	return list
}

// LostRules are those that a namespace begins with and this one lacks, as text. It is pure.
func (v *View) LostRules() []string {
	var list []string
	for _, r := range v.lostRules() {
		list = append(list, r.String())
	}
	return list
}

func (v *View) lostRules() []netlink.Rule {
	var list []netlink.Rule
	for _, family := range v.families {
		for _, usual := range usualRules[family] {
			if slices.ContainsFunc(v.rules, func(r netlink.Rule) bool { return r.Family == family && key(r) == usual && !isForeign(r) }) {
				continue
			}
			lost := netlink.NewRule()
			lost.Family = family
			if _, err := fmt.Sscan(usual, &lost.Priority, &lost.Table); err == nil { // as in the table above
				list = append(list, *lost)
			}
		}
	}
	return list
}

// key is a rule as usualRules has them.
func key(r netlink.Rule) string { return fmt.Sprint(r.Priority, " ", r.Table) }

func isForeign(r netlink.Rule) bool {
	plain := r.Src == nil && r.Dst == nil && r.Mark == 0 && r.IifName == "" && r.OifName == "" && !r.Invert && r.Tos == 0 &&
		r.IPProto == 0 && r.Dport == nil && r.Sport == nil && r.UIDRange == nil && r.TunID == 0 && r.Goto < 0 && r.SuppressPrefixlen < 0 && r.SuppressIfgroup < 0 &&
		(r.Type == 0 || r.Type == unix.FR_ACT_TO_TBL)
	return !plain || !slices.Contains(usualRules[r.Family], key(r))
}

// ForeignDevices are devices that are up and that are not among some names. It is pure.
func (v *View) ForeignDevices(names []string) []string {
	var list []string
	for _, d := range v.devices {
		if d.Up && !slices.Contains(names, d.Name) {
			list = append(list, d.Name)
		}
	}
	return list
}

// Loopback are the addresses of the loopback, but for its own, in CIDR form.
func (v *View) Loopback() []string {
	return slices.DeleteFunc(slices.Clone(v.loopback), func(address string) bool {
		ip, _, err := net.ParseCIDR(address)
		return err == nil && (address == "127.0.0.1/8" || ip.Equal(net.IPv6loopback))
	})
}

// MendRouting removes the routes, the rules of routing and the addresses of the loopback that a node's plan does not list,
// and adds the rules that its network began with.
func (s *Site) MendRouting(n plan.Node) error {
	holder, err := s.node(n.Name)
	if err != nil {
		return err
	}
	err = inside(holder, func(_ *netns.Namespace, handle *netlink.Handle) error { return mendRouting(handle, n) })
	if err != nil {
		return fmt.Errorf("node %q: %w", n.Name, err)
	}
	return nil
}

func mendRouting(handle *netlink.Handle, n plan.Node) error {
	v := &View{indexes: map[string]int{}}
	devices, err := netns.Whole(handle.LinkList)
	if err != nil {
		return fmt.Errorf("list devices: %w", err)
	}
	for _, d := range devices {
		v.indexes[d.Attrs().Name] = d.Attrs().Index
		if d.Attrs().Name == "lo" {
			if _, err := removeOtherAddresses(handle, d, slices.Concat([]string{"127.0.0.1/8", "::1/128"}, n.Loopback), nil); err != nil {
				return err
			}
		}
	}
	if err := v.readRouting(handle); err != nil {
		return err
	}
	for _, r := range v.everyRoute {
		if v.foreign(r, n.Routes) {
			if err := handle.RouteDel(&r); err != nil && !isAbsent(err) {
				return fmt.Errorf("remove the route %s: %w", v.text(r), err)
			}
		}
	}
	for _, r := range v.rules {
		if isForeign(r) {
			if err := handle.RuleDel(&r); err != nil && !isAbsent(err) {
				return fmt.Errorf("remove the rule %s: %w", r, err)
			}
		}
	}
	for _, r := range v.lostRules() {
		if err := handle.RuleAdd(&r); err != nil {
			return fmt.Errorf("add the rule %s: %w", r, err)
		}
	}
	return nil
}
