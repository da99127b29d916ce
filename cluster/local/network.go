package local

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/node"
)

// bridgeName is the device that joins the nodes, in the control plane's namespace.
const bridgeName = "nodes"

// wireControl makes the bridge, and gives the control plane its addresses:
//
//	ip link add nodes type bridge
//	ip addr add 198.18.0.1/24 dev nodes
//	ip addr add 198.19.0.1/32 dev lo
func wireControl(control *node.Running) error {
	return inNamespace(control, func(ns *netns.Namespace, h *netlink.Handle) error {
		if err := asTheKernel(ns); err != nil {
			return err
		}
		if err := h.LinkAdd(&netlink.Bridge{LinkAttrs: named(bridgeName)}); err != nil {
			return fmt.Errorf("make the bridge: %w", err)
		}
		if err := up(h, bridgeName, onNetwork(ControlAddress)); err != nil {
			return err
		}
		if err := up(h, "lo", APIService.String()+"/32"); err != nil {
			return err
		}
		return ns.Sysctl("net.ipv4.ip_forward", "1")
	})
}

// wireNode joins a node to the bridge, and gives the control plane a route to its pods. The other
// nodes get theirs by route.
//
//	ip -n CONTROL link add to-n1 master nodes type veth peer name eth0 netns N1
//	ip -n CONTROL route add PODS via ADDRESS
//	ip -n N1 addr add ADDRESS/24 dev eth0
//	ip -n N1 route add default via CONTROL
func wireNode(control *node.Running, n Node, r *node.Running) error {
	err := inNamespace(control, func(_ *netns.Namespace, h *netlink.Handle) error {
		theirs, err := r.Namespace()
		if err != nil {
			return err
		}
		defer theirs.Close()
		bridge, err := h.LinkByName(bridgeName)
		if err != nil {
			return fmt.Errorf("find the bridge: %w", err)
		}
		attributes := named(n.device())
		attributes.MasterIndex = bridge.Attrs().Index
		pair := &netlink.Veth{LinkAttrs: attributes, PeerName: "eth0", PeerNamespace: netlink.NsFd(theirs.FD())}
		if err := h.LinkAdd(pair); err != nil {
			return fmt.Errorf("join node %s to the others: %w", n.Name, err)
		}
		if err := up(h, n.device(), ""); err != nil {
			return err
		}
		return route(h, n.Pods, n.Address)
	})
	if err != nil {
		return err
	}
	return inNamespace(r, func(ns *netns.Namespace, h *netlink.Handle) error {
		if err := asTheKernel(ns); err != nil {
			return err
		}
		if err := up(h, "lo", ""); err != nil {
			return err
		}
		if err := up(h, "eth0", onNetwork(n.Address)); err != nil {
			return err
		}
		if err := route(h, netip.PrefixFrom(netip.IPv4Unspecified(), 0), ControlAddress); err != nil {
			return err
		}
		return ns.Sysctl("net.ipv4.ip_forward", "1")
	})
}

// routeTo tells a node where the pods of another are, so that they take no way by the control
// plane.
func routeTo(r *node.Running, other Node) error {
	return inNamespace(r, func(_ *netns.Namespace, h *netlink.Handle) error { return route(h, other.Pods, other.Address) })
}

// asTheKernel keeps the host's own settings of interfaces out of a member's network. The pods' networks, which containerd
// makes, have the host's, as on any node.
func asTheKernel(ns *netns.Namespace) error {
	inherited, err := ns.Inherited()
	if err != nil {
		return err
	}
	return ns.Reset(inherited)
}

func inNamespace(r *node.Running, f func(*netns.Namespace, *netlink.Handle) error) error {
	ns, err := r.Namespace()
	if err != nil {
		return err
	}
	defer ns.Close()
	h, err := ns.Netlink()
	if err != nil {
		return err
	}
	defer h.Close()
	return f(ns, h)
}

func named(name string) netlink.LinkAttrs {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = name
	return attributes
}

// up sets a device up and gives it an address, if there is one.
func up(h *netlink.Handle, name, address string) error {
	device, err := h.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find device %s: %w", name, err)
	}
	if address != "" {
		parsed, err := netlink.ParseAddr(address)
		if err == nil {
			err = h.AddrAdd(device, parsed)
		}
		if err != nil {
			return fmt.Errorf("give device %s the address %s: %w", name, address, err)
		}
	}
	if err := h.LinkSetUp(device); err != nil {
		return fmt.Errorf("set device %s up: %w", name, err)
	}
	return nil
}

func route(h *netlink.Handle, to netip.Prefix, via netip.Addr) error {
	destination := &net.IPNet{IP: to.Addr().AsSlice(), Mask: net.CIDRMask(to.Bits(), 32)}
	if err := h.RouteAdd(&netlink.Route{Dst: destination, Gw: via.AsSlice()}); err != nil {
		return fmt.Errorf("route %s by %s: %w", to, via, err)
	}
	return nil
}
