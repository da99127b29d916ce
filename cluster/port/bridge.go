package port

import (
	"context"
	"fmt"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
)

// addToBridge makes a veth pair from a bridge to the pod.
func addToBridge(_ context.Context, s site, pod *netns.Namespace) (made netlink.Link, err error) {
	return made, s.onParent(func(handle *netlink.Handle, parent netlink.Link) error {
		if parent.Type() != "bridge" {
			return fmt.Errorf("%s is a %s, not a bridge", s.Port.Parent, parent.Type())
		}
		made, err = s.addPair(handle, pod, parent.Attrs().MTU, parent.Attrs().Index)
		return err
	})
}
