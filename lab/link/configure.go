package link

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Quiet turns off, in a namespace without devices yet, what sends packets unasked: IPv6 (router
// solicitations, duplicate address detection, MLD). It sets the loopback up. Where a node turns IPv6 on, its devices
// take no addresses and routes from routers.
func Quiet(h Holder) error {
	return inside(h, func(ns *netns.Namespace, handle *netlink.Handle) error {
		err := ns.Do(func() error {
			for _, s := range []netns.Sysctl{{Name: "all/disable_ipv6", Value: "1"}, {Name: "default/disable_ipv6", Value: "1"}, {Name: "default/accept_ra", Value: "0"}} {
				err := netns.WriteSysctl("net/ipv6/conf/"+s.Name, s.Value)
				if err != nil && !errors.Is(err, netns.ErrNoSysctl) { // a kernel without IPv6
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		loopback, err := handle.LinkByName("lo")
		if err != nil {
			return fmt.Errorf("find lo: %w", err)
		}
		return handle.LinkSetUp(loopback)
	})
}

// Configure sets up interfaces of a node whose links exist: offloads, alias, addresses, neighbours, up.
// Then it adds the node's routes and removes those in gone. It is idempotent.
func (s *Site) Configure(ctx context.Context, n plan.Node, interfaces []plan.Interface, gone []spec.Route) error {
	holder, err := s.node(n.Name)
	if err != nil {
		return err
	}
	return inside(holder, func(ns *netns.Namespace, handle *netlink.Handle) error {
		e, err := openEthtool(ns)
		if err != nil {
			return err
		}
		defer e.close()
		for _, i := range interfaces {
			if err := s.configure(ctx, n, i, ns, handle, e); err != nil {
				return fmt.Errorf("interface %s:%s: %w", n.Name, i.Name, err)
			}
		}
		for _, r := range gone {
			// A route may already have disappeared with its interface or its address.
			route, err := parseRoute(handle, r)
			if err != nil {
				continue
			}
			if err := handle.RouteDel(route); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("node %q: remove route to %s: %w", n.Name, r.To, err)
			}
		}
		for _, r := range n.Routes {
			if err := replaceRoute(handle, r); err != nil {
				return fmt.Errorf("node %q: route to %s: %w", n.Name, r.To, err)
			}
		}
		return nil
	})
}

func (s *Site) configure(ctx context.Context, n plan.Node, i plan.Interface, ns *netns.Namespace, handle *netlink.Handle, e *ethtool) error {
	device, err := handle.LinkByName(i.Name)
	if err != nil {
		return err
	}
	if f := s.functionOf(n.Name, i); f != nil {
		if err := awaitVF(ctx, handle, device, f); err != nil {
			return err
		}
	}
	l := s.linkOf(i)
	values, err := e.apply(i.Name, offloadsOf(l))
	if err != nil {
		return err
	}
	describe(device, values)
	values["ipv6"] = "off"
	if err := ns.Do(func() error { return beginIPv6(n, i) }); err != nil {
		return err
	}
	if ipv6Off(i) == "0" {
		values["ipv6"] = "on"
	}
	old := s.before(n.Name, i.Name)
	if i.Alias != "" || old.Alias != "" && old.Alias == device.Attrs().Alias { // an empty one removes it
		if err := handle.LinkSetAlias(device, i.Alias); err != nil {
			return fmt.Errorf("set the alias %q: %w", i.Alias, err)
		}
	}
	if err := setAddresses(handle, device, i.Addresses, old.Addresses); err != nil {
		return err
	}
	if err := handle.LinkSetUp(device); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	if PlansGRO(l, n.Name) { // an XDP redirect has to reach it
		gro, err := e.apply(i.Name, groOn)
		if err != nil {
			return err
		}
		maps.Copy(values, gro)
	}
	s.record(n.Name, i.Link, i.Name, values)
	return setNeighbours(handle, device, i.Neighbours)
}

// before is an interface as the plan had it that the lab follows no longer; empty if it had none.
func (s *Site) before(nodeName, name string) plan.Interface {
	if s.Before == nil {
		return plan.Interface{}
	}
	if i := s.Before.Interface(plan.Endpoint{Node: nodeName, Interface: name}); i != nil {
		return *i
	}
	return plan.Interface{}
}

// beginIPv6 turns IPv6 on where the interface has such addresses, and off elsewhere. Before that it lets the interface
// neither follow routers nor ask for duplicates of its addresses, which would be of no use for a second or two: the link's
// MAC addresses are the plan's, so that those which the kernel makes of them are unique, too. The file's sysctls win.
func beginIPv6(n plan.Node, i plan.Interface) error {
	off := ipv6Off(i)
	settings := []netns.Sysctl{{Name: "accept_ra", Value: "0"}, {Name: "accept_dad", Value: "0"}, {Name: "disable_ipv6", Value: off}}
	if off == "1" {
		settings = settings[2:] // it takes time to find a sysctl where there are many networks
	}
	for _, s := range settings {
		err := netns.WriteSysctl("net/ipv6/conf/"+i.Name+"/"+s.Name, inFile(n, i, s))
		if err != nil && !(errors.Is(err, netns.ErrNoSysctl) && off == "1") { // a kernel without IPv6
			return err
		}
	}
	return nil
}

// inFile is what a node's sysctls say of an IPv6 setting of an interface, for it or for all that it will have; else the
// setting's own value. Whether IPv6 is on follows from the addresses, and what the sysctls say is written after them.
func inFile(n plan.Node, i plan.Interface, s netns.Sysctl) string {
	if s.Name == "disable_ipv6" {
		return s.Value
	}
	for _, scope := range []string{i.Name, "default"} {
		for name, value := range n.Sysctls {
			if netns.SysctlPath(name) == netns.SysctlPath("net/ipv6/conf/"+scope+"/"+s.Name) {
				return value
			}
		}
	}
	return s.Value
}

// setAddresses gives an interface its addresses. Those of an earlier plan go after: so an address with another prefix
// length is always there, and its connections stay. With an address the kernel removes those that came to its subnet
// after it (promote_secondaries in Documentation/networking/ip-sysctl.rst), which are therefore added again.
func setAddresses(handle *netlink.Handle, device netlink.Link, wanted, before []string) error {
	if err := addAddresses(handle, device, wanted); err != nil {
		return err
	}
	removed, err := removeOtherAddresses(handle, device, wanted, before)
	if err != nil || !removed {
		return err
	}
	return addAddresses(handle, device, wanted)
}

func addAddresses(handle *netlink.Handle, device netlink.Link, wanted []string) error {
	for _, address := range wanted {
		parsed, err := netlink.ParseAddr(address)
		if err != nil {
			return fmt.Errorf("address %q: %w", address, err)
		}
		if parsed.IP.To4() == nil {
			// No duplicate address detection: the plan assigns each address once.
			parsed.Flags = unix.IFA_F_NODAD
		}
		if err := handle.AddrReplace(device, parsed); err != nil {
			return fmt.Errorf("add address %s: %w", address, err)
		}
	}
	return nil
}

// removeOtherAddresses removes addresses of an earlier plan. Of link-local ones only those of the plan before go: others
// are the kernel's own, and so is that of the device's MAC address.
func removeOtherAddresses(handle *netlink.Handle, device netlink.Link, wanted, before []string) (removed bool, err error) {
	have, err := netns.Whole(func() ([]netlink.Addr, error) { return handle.AddrList(device, unix.AF_UNSPEC) })
	if err != nil {
		return false, fmt.Errorf("list addresses: %w", err)
	}
	for _, address := range have {
		text := address.IPNet.String()
		if slices.Contains(wanted, text) || address.IP.IsLinkLocalUnicast() && (!slices.Contains(before, text) || address.IP.Equal(ownLinkLocal(device.Attrs().HardwareAddr))) {
			continue
		}
		// One that the kernel has removed with another before is gone already.
		if err := handle.AddrDel(device, &address); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return removed, fmt.Errorf("remove address %s: %w", address.IPNet, err)
		}
		removed = true
	}
	return removed, nil
}

// ownLinkLocal is the IPv6 address that the kernel makes of a MAC address (RFC 4291, appendix A).
func ownLinkLocal(mac net.HardwareAddr) net.IP {
	if len(mac) != 6 {
		return nil
	}
	return net.IP{0xfe, 0x80, 8: mac[0] ^ 2, 9: mac[1], 10: mac[2], 11: 0xff, 12: 0xfe, 13: mac[3], 14: mac[4], 15: mac[5]}
}

// linkOf is the link of an interface.
func (s *Site) linkOf(i plan.Interface) plan.Link {
	for _, l := range s.Plan.Links {
		if l.Name == i.Link {
			return l
		}
	}
	return plan.Link{}
}

// setNeighbours sets the permanent entries of the plan, and removes others, so that no ARP runs in
// a trial.
func setNeighbours(handle *netlink.Handle, device netlink.Link, wanted []plan.Neighbour) error {
	index := device.Attrs().Index
	keep := map[string]bool{}
	for _, w := range wanted {
		mac, err := net.ParseMAC(w.MAC)
		if err != nil {
			return err
		}
		ip := net.ParseIP(w.IP)
		if ip == nil {
			return fmt.Errorf("neighbour %q is no IP address", w.IP)
		}
		entry := netlink.Neigh{LinkIndex: index, State: unix.NUD_PERMANENT, IP: ip, HardwareAddr: mac}
		if err := handle.NeighSet(&entry); err != nil {
			return fmt.Errorf("set neighbour %s: %w", w.IP, err)
		}
		keep[ip.String()] = true
	}
	have, err := netns.Whole(func() ([]netlink.Neigh, error) { return handle.NeighList(index, unix.AF_UNSPEC) })
	if err != nil {
		return fmt.Errorf("list neighbours: %w", err)
	}
	for _, n := range have {
		if n.State == unix.NUD_PERMANENT && !keep[n.IP.String()] {
			if err := handle.NeighDel(&n); err != nil && !errors.Is(err, unix.ENOENT) {
				return fmt.Errorf("remove neighbour %s: %w", n.IP, err)
			}
		}
	}
	return nil
}

func replaceRoute(handle *netlink.Handle, r spec.Route) error {
	route, err := parseRoute(handle, r)
	if err != nil {
		return err
	}
	if err := handle.RouteReplace(route); err != nil {
		return fmt.Errorf("add: %w", err)
	}
	return nil
}

func parseRoute(handle *netlink.Handle, r spec.Route) (*netlink.Route, error) {
	to := r.To
	switch {
	case to == "default" && strings.Contains(r.Via, ":"):
		to = "::/0"
	case to == "default":
		to = "0.0.0.0/0"
	}
	route := netlink.Route{}
	var err error
	if _, route.Dst, err = net.ParseCIDR(to); err != nil {
		return nil, err
	}
	if r.Via == "" {
		// The kernel finds another route's next hop only through a route of link scope
		// (fib_check_nh_v4_gw in net/ipv4/fib_semantics.c). IPv6 has no scopes.
		route.Scope = netlink.SCOPE_LINK
	}
	if r.Via != "" {
		if route.Gw = net.ParseIP(r.Via); route.Gw == nil {
			return nil, fmt.Errorf("via %q is no IP address", r.Via)
		}
	}
	if r.Interface != "" {
		device, err := handle.LinkByName(r.Interface)
		if err != nil {
			return nil, fmt.Errorf("interface %q: %w", r.Interface, err)
		}
		route.LinkIndex = device.Attrs().Index
	}
	return &route, nil
}
