package port

import (
	"context"
	"fmt"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
)

// addMacvlan makes a macvlan device on the parent, in the pod:
//
//	ip link add link PARENT name IF address MAC netns POD type macvlan mode bridge
func addMacvlan(_ context.Context, s site, pod *netns.Namespace) (made netlink.Link, err error) {
	return made, s.onParent(func(node *netlink.Handle, parent netlink.Link) error {
		made, err = s.macvlanOn(node, parent, pod)
		return err
	})
}

// addToVXLAN does the same on a VXLAN device: the pods of the node and the tunnel to the other nodes share one
// network. A bridge could do it, too, but would add a second table of addresses beside that of the device.
func addToVXLAN(_ context.Context, s site, pod *netns.Namespace) (made netlink.Link, err error) {
	return made, s.onParent(func(node *netlink.Handle, parent netlink.Link) error {
		if parent.Type() != "vxlan" {
			return fmt.Errorf("%s is a %s, not a VXLAN device; create one (ip link add %s type vxlan …), or use the tier macvlan", s.Port.Parent, parent.Type(), s.Port.Parent)
		}
		made, err = s.macvlanOn(node, parent, pod)
		return err
	})
}

func (s site) macvlanOn(node *netlink.Handle, parent netlink.Link, pod *netns.Namespace) (netlink.Link, error) {
	attrs, err := s.attributes(parent.Attrs().MTU)
	if err != nil {
		return nil, err
	}
	attrs.ParentIndex = parent.Attrs().Index
	attrs.Namespace = netlink.NsFd(pod.FD())
	return s.add(node, pod, &netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_BRIDGE})
}
