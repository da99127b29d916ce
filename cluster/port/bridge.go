package port

import (
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/netns"
)

// addToBridge makes a veth pair from a bridge to the pod, and fixes the pod's MAC address to its port. The
// bridge learns no addresses from pods' ports: otherwise a pod could send with another pod's address and
// receive its packets. Packets to an address that a pod gave itself go to all ports.
//
//	bridge link set dev NAME learning off
//	bridge fdb add MAC dev NAME master static sticky
//
// Both disappear with the device.
func addToBridge(_ context.Context, s site, pod *netns.Namespace) (made netlink.Link, err error) {
	return made, s.onParent(func(handle *netlink.Handle, parent netlink.Link) error {
		if parent.Type() != "bridge" {
			return fmt.Errorf("%s is a %s, not a bridge", s.Port.Parent, parent.Type())
		}
		if made, err = s.addPair(handle, pod, parent.Attrs().MTU, parent.Attrs().Index); err != nil {
			return err
		}
		end, err := handle.LinkByName(nodeName(s.Port.Name))
		if err != nil {
			return fmt.Errorf("find the node's end of port %s: %w", s.Port.Name, err)
		}
		if err := handle.LinkSetLearning(end, false); err != nil {
			return fmt.Errorf("stop %s from learning addresses at port %s: %w", s.Port.Parent, s.Port.Name, err)
		}
		// Sticky: a learning port cannot take the address over either. Linux before 5.0 ignores the flag.
		err = handle.NeighAdd(&netlink.Neigh{
			LinkIndex: end.Attrs().Index, Family: unix.AF_BRIDGE, State: netlink.NUD_NOARP,
			Flags: netlink.NTF_MASTER | netlink.NTF_STICKY, HardwareAddr: made.Attrs().HardwareAddr,
		})
		if errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("%s already has the MAC address %s at another port (bridge fdb show br %s); give this port another address, or wait until the bridge forgets that one", s.Port.Parent, made.Attrs().HardwareAddr, s.Port.Parent)
		}
		if err != nil {
			return fmt.Errorf("make %s forward %s to port %s: %w", s.Port.Parent, made.Attrs().HardwareAddr, s.Port.Name, err)
		}
		return nil
	})
}
