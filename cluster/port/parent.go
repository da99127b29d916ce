package port

import (
	"fmt"
	"net"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
)

// onParent calls f with the port's parent, in the node's namespace.
func (s site) onParent(f func(*netlink.Handle, netlink.Link) error) error {
	return fromNode(func(handle *netlink.Handle) error {
		parent, err := handle.LinkByName(s.Port.Parent)
		if err != nil {
			return fmt.Errorf("find %s, which the port is made on: %w", s.Port.Parent, err)
		}
		if s.Port.MTU > parent.Attrs().MTU {
			return fmt.Errorf("%s has an MTU of %d, which is too small for the port's %d; raise the MTU of %s", s.Port.Parent, parent.Attrs().MTU, s.Port.MTU, s.Port.Parent)
		}
		return f(handle, parent)
	})
}

// fromNode calls f with the node's own namespace.
func fromNode(f func(*netlink.Handle) error) error {
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
	return f(handle)
}

// attributes returns what the pod's device has regardless of its type. most is the MTU of the parent.
func (s site) attributes(most int) (netlink.LinkAttrs, error) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = s.Interface, s.Port.MTU
	if attrs.MTU == 0 {
		attrs.MTU = most
	}
	var err error
	attrs.HardwareAddr, err = net.ParseMAC(s.MAC)
	return attrs, err
}
