package port

import (
	"context"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
)

// addMacvlan makes a macvlan device on the parent, in the pod:
//
//	ip link add link PARENT name IF address MAC netns POD type macvlan mode bridge
func addMacvlan(_ context.Context, s site, pod *netns.Namespace) (made netlink.Link, err error) {
	return made, s.onParent(func(node *netlink.Handle, parent netlink.Link) error {
		attrs, err := s.attributes(parent.Attrs().MTU)
		if err != nil {
			return err
		}
		attrs.ParentIndex = parent.Attrs().Index
		attrs.Namespace = netlink.NsFd(pod.FD())
		made, err = s.add(node, pod, &netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_BRIDGE})
		return err
	})
}
