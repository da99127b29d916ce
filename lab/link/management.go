package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
)

// joinHost joins the host to the bridge of the management network, and gives both their addresses:
//
//	ip -n FABRIC link add PORT master BRIDGE type veth peer name DEVICE address MAC netns HOST
//	ip -n FABRIC addr add SERVER dev BRIDGE
//	ip addr add ADDRESS dev DEVICE; ip link set DEVICE up
//
// The pair ends with the fabric's namespace, and its address and route end with the pair. On a shared network it
// has none, and leads on to the uplink.
func (s *Site) joinHost(f *fabric, l plan.Link, bridge netlink.Link, endpoints []plan.Endpoint) error {
	m := s.Plan.Management
	if _, err := f.LinkByName(m.Port); err != nil {
		if err := s.addHostPair(f, l, bridge); err != nil {
			return err
		}
	}
	if m.Shared() {
		return s.shareUplink(l, endpoints)
	}
	return nil
}

// addHostPair makes the pair between the bridge and the host.
func (s *Site) addHostPair(f *fabric, l plan.Link, bridge netlink.Link) error {
	m := s.Plan.Management
	if m.Shared() {
		if err := onHost(func(handle *netlink.Handle) error { _, err := checkUplink(handle, m); return err }); err != nil {
			return err
		}
	}
	if err := addAddress(f.Handle, bridge, m.ServerAddress()); err != nil {
		return err
	}
	// Not by this process's id: its first thread may be in the namespace of a node just now.
	host, err := netns.Current()
	if err != nil {
		return err
	}
	defer host.Close()
	near, far := end{name: m.Port, holder: f.holder}, end{name: m.Device, mac: m.MAC, ns: host}
	if err := s.addPair(f.Handle, journal.Step{Link: l.Name, Target: m.Device}, near, far, l.MTU, bridge.Attrs().Index); err != nil {
		if errors.Is(err, unix.EEXIST) {
			err = exit.Wrongf("the host has an interface %s that does not belong to the lab: %w; remove it, or set another prefix in the file (--set prefix=…)", m.Device, err)
		}
		return err
	}
	port, err := f.LinkByName(m.Port)
	if err != nil {
		return fmt.Errorf("find %s: %w", m.Port, err)
	}
	if err := f.LinkSetUp(port); err != nil {
		return fmt.Errorf("set %s up: %w", m.Port, err)
	}
	return onHost(func(handle *netlink.Handle) error {
		device, err := handle.LinkByName(m.Device)
		if err != nil {
			return fmt.Errorf("find %s: %w", m.Device, err)
		}
		// It would solicit routers and join groups, on a network that has neither.
		err = netns.WriteSysctl("net/ipv6/conf/"+m.Device+"/disable_ipv6", "1")
		if err != nil && !errors.Is(err, netns.ErrNoSysctl) { // a kernel without IPv6
			return err
		}
		// The host reaches the nodes, and is no router for them.
		if err := netns.WriteSysctl("net/ipv4/conf/"+m.Device+"/forwarding", "0"); err != nil {
			return err
		}
		if m.Shared() {
			return nil
		}
		if err := addAddress(handle, device, m.HostAddress()); err != nil {
			return err
		}
		if err := handle.LinkSetUp(device); err != nil {
			return fmt.Errorf("set %s up: %w", m.Device, err)
		}
		return nil
	})
}

// onHost runs f with a routing socket in the host's network namespace.
func onHost(f func(*netlink.Handle) error) error {
	ns, err := netns.Current()
	if err != nil {
		return err
	}
	defer ns.Close()
	handle, err := ns.Netlink()
	if err != nil {
		return err
	}
	defer handle.Close()
	return f(handle)
}

// addAddress gives a device an address in CIDR form; nothing where that is empty.
func addAddress(handle *netlink.Handle, device netlink.Link, text string) error {
	if text == "" {
		return nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return err
	}
	address := &netlink.Addr{IPNet: &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}}
	if err := handle.AddrReplace(device, address); err != nil {
		return fmt.Errorf("give %s the address %s: %w", device.Attrs().Name, text, err)
	}
	return nil
}

// CheckManagement refuses a management network that would take packets from a network that the host
// has a route to, whatever the plan knew of the host; and a shared one whose uplink is not as planned.
func CheckManagement(m *plan.Management) error {
	if m == nil {
		return nil
	}
	if m.Shared() {
		return checkShared(m)
	}
	subnet, err := netip.ParsePrefix(m.Subnet)
	if err != nil {
		return fmt.Errorf("the management network: %w", err)
	}
	return onHost(func(handle *netlink.Handle) error {
		routes, err := netns.Whole(func() ([]netlink.Route, error) { return handle.RouteList(nil, netlink.FAMILY_V4) })
		if err != nil {
			return fmt.Errorf("list the host's routes: %w", err)
		}
		for _, r := range routes {
			to, device := prefixOf(r.Dst), deviceName(handle, r.LinkIndex)
			if to.Bits() > 0 && to.Overlaps(subnet) && device != m.Device {
				return exit.Wrongf("the subnet of the management network, %s, overlaps %s, to which this host has a route by %s; name one that is free, as --set management.subnet=10.200.0.0/24, or plan again if nines chose it",
					subnet, to, device)
			}
		}
		return nil
	})
}

// prefixOf is a route's destination; zero for the default route.
func prefixOf(n *net.IPNet) netip.Prefix {
	if n == nil {
		return netip.Prefix{}
	}
	address, ok := netip.AddrFromSlice(n.IP)
	bits, _ := n.Mask.Size()
	if !ok {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(address.Unmap(), bits)
}

func deviceName(handle *netlink.Handle, index int) string {
	device, err := handle.LinkByIndex(index)
	if err != nil {
		return fmt.Sprintf("interface %d", index)
	}
	return device.Attrs().Name
}

// HasHostDevice is true if the host has an interface with the name of a management network's.
func HasHostDevice(m *plan.Management) (bool, error) {
	has := false
	err := onHost(func(handle *netlink.Handle) error {
		_, err := handle.LinkByName(m.Device)
		if errors.As(err, new(netlink.LinkNotFoundError)) {
			return nil
		}
		has = err == nil
		return err
	})
	return has, err
}

// HostEnd is the state of the host's interface on a management network; nil if it is gone.
func HostEnd(m *plan.Management) (*Device, error) {
	var found *Device
	err := onHost(func(handle *netlink.Handle) error {
		device, err := handle.LinkByName(m.Device)
		if errors.As(err, new(netlink.LinkNotFoundError)) {
			return nil
		}
		if err != nil {
			return err
		}
		d, err := inspect(handle, device)
		found = &d
		return err
	})
	return found, err
}

// ServeNames starts the server of names of the management network, or restarts it if its names have
// changed.
func (s *Site) ServeNames(ctx context.Context, l plan.Link) error {
	return inLink(l, s.serveNames(ctx, l))
}
