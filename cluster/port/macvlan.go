package port

import (
	"context"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
)

// addMacvlan makes a macvlan device of the parent in the pod:
//
//	ip link add link PARENT name IF address MAC netns POD type macvlan mode bridge
func addMacvlan(_ context.Context, s site, pod *netns.Namespace) (made netlink.Link, err error) {
	return made, s.onParent(func(node *netlink.Handle, parent netlink.Link) error {
		attrs, err := s.attributes(s.Interface, parent)
		if err != nil {
			return err
		}
		attrs.ParentIndex = parent.Attrs().Index
		attrs.Namespace = netlink.NsFd(pod.FD())
		made, err = s.add(node, pod, &netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_BRIDGE})
		return err
	})
}

// onParent calls f with the port's parent, in the node's namespace.
func (s site) onParent(f func(*netlink.Handle, netlink.Link) error) error {
	node, err := netns.Current()
	if err != nil {
		return err
	}
	defer node.Close()
	handle, err := node.Netlink()
	if err != nil {
		return err
	}
	defer handle.Close()
	parent, err := handle.LinkByName(s.Port.Parent)
	if err != nil {
		return fmt.Errorf("find %s, which the port is made on: %w", s.Port.Parent, err)
	}
	if s.Port.MTU > parent.Attrs().MTU {
		return fmt.Errorf("%s has an MTU of %d, and the port is to have %d: raise that of %s", s.Port.Parent, parent.Attrs().MTU, s.Port.MTU, s.Port.Parent)
	}
	return f(handle, parent)
}

// attributes are what the port's device has whatever its type.
func (s site) attributes(name string, parent netlink.Link) (netlink.LinkAttrs, error) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = name, s.Port.MTU
	if attrs.MTU == 0 {
		attrs.MTU = parent.Attrs().MTU
	}
	var err error
	attrs.HardwareAddr, err = net.ParseMAC(s.MAC)
	return attrs, err
}
