package port

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/link"
)

// StandardMTU is the MTU of an interface if neither its parent nor its port has one.
const StandardMTU = 1500

// addXDP makes a veth pair to the pod, with its end on the node in the switch of XDP programs that joins the
// ports of one parent:
//
//	ip link add NAME type veth peer name IF address MAC netns POD; ip link set NAME up
//	ip link set NAME xdpdrv object switch.bpf.o
//
// Only the pair has to be undone: a deleted device leaves the switch, and the switch disappears with its last
// device.
func addXDP(_ context.Context, s site, pod *netns.Namespace) (made netlink.Link, err error) {
	return made, fromNode(func(node *netlink.Handle) error {
		if made, err = s.addPair(node, pod, StandardMTU, 0); err != nil {
			return err
		}
		// The node must send no packets of its own to the pod: with IPv6 it would look for routers and neighbours.
		name := nodeName(s.Port.Name)
		err := netns.WriteSysctl("net/ipv6/conf/"+name+"/disable_ipv6", "1")
		if err != nil && !errors.Is(err, netns.ErrNoSysctl) { // a kernel without IPv6
			return err
		}
		end, err := node.LinkByName(name)
		if err != nil {
			return fmt.Errorf("find %s: %w", name, err)
		}
		return s.joinXDP(node, end)
	})
}

// joinXDP puts the node's end of a port into the switch of its parent, and makes the switch for the first one.
func (s site) joinXDP(node *netlink.Handle, end netlink.Link) error {
	mac, err := net.ParseMAC(s.MAC)
	if err != nil {
		return err
	}
	joined, err := s.xdpSwitch(node)
	if err != nil {
		return err
	}
	defer joined.Close()
	return joined.Join(end, mac)
}

// xdpSwitch returns the switch that the other ports of the parent are in, or a new one if none is in a switch.
func (s site) xdpSwitch(node *netlink.Handle) (*link.XDPSwitch, error) {
	all, err := s.keeper.Held()
	if err != nil {
		return nil, err
	}
	for _, other := range all {
		if other.Port.Tier != s.Port.Tier || other.Port.Parent != s.Port.Parent {
			continue
		}
		end, err := node.LinkByName(nodeName(other.Port.Name))
		if errors.As(err, new(netlink.LinkNotFoundError)) {
			continue // it is not yet attached
		}
		if err != nil {
			return nil, fmt.Errorf("look for port %s: %w", other.Port.Name, err)
		}
		if found, err := link.XDPSwitchOf(end); err != nil || found != nil {
			return found, err
		}
	}
	return link.NewXDPSwitch()
}

// readyXDP makes the pod's end accept redirected packets.
func readyXDP(s site, pod *netns.Namespace) error { return link.TakeRedirects(pod, s.Interface) }

// restoreXDP puts a port back into its switch after another program has removed it.
func restoreXDP(_ context.Context, s site, held *Held) error {
	if held.Cookie == 0 {
		return nil // it is in no pod
	}
	return fromNode(func(node *netlink.Handle) error {
		end, err := node.LinkByName(nodeName(s.Port.Name))
		if errors.As(err, new(netlink.LinkNotFoundError)) {
			return nil // it disappeared with its pod
		}
		if err != nil {
			return fmt.Errorf("look for port %s: %w", s.Port.Name, err)
		}
		if xdp := end.Attrs().Xdp; xdp != nil && xdp.ProgId != 0 {
			return nil
		}
		return s.joinXDP(node, end)
	})
}
