package port

import (
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/netns"
)

// addToBridge makes a veth pair from a bridge to the pod, whose MAC address stays at its port: the bridge
// learns none from pods' ports, as another pod would only have to send with the address to get the packets
// for it. What is for an address that a pod has given itself goes to all ports.
//
//	bridge link set dev NAME learning off
//	bridge fdb add MAC dev NAME master static sticky
//
// Both go with the device.
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
			return fmt.Errorf("have %s learn no addresses from port %s: %w", s.Port.Parent, s.Port.Name, err)
		}
		// Sticky: a port that learns does not take it away either. Linux before 5.0 does not look at that.
		err = handle.NeighAdd(&netlink.Neigh{
			LinkIndex: end.Attrs().Index, Family: unix.AF_BRIDGE, State: netlink.NUD_NOARP,
			Flags: netlink.NTF_MASTER | netlink.NTF_STICKY, HardwareAddr: made.Attrs().HardwareAddr,
		})
		if errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("%s has the MAC address %s elsewhere (bridge fdb show br %s): give the port another, or wait until the bridge has forgotten that", s.Port.Parent, made.Attrs().HardwareAddr, s.Port.Parent)
		}
		if err != nil {
			return fmt.Errorf("tell %s that %s is at port %s: %w", s.Port.Parent, made.Attrs().HardwareAddr, s.Port.Name, err)
		}
		return nil
	})
}
