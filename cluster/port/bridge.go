package port

import (
	"context"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
)

// addPair makes a veth pair from the bridge to the pod. It is undone by its end on the node: a pod can
// do what it likes with its own.
//
//	ip link add NAME master BRIDGE type veth peer name IF address MAC netns POD; ip link set NAME up
func addPair(_ context.Context, s site, pod *netns.Namespace) (made netlink.Link, err error) {
	return made, s.onParent(func(handle *netlink.Handle, parent netlink.Link) error {
		if parent.Type() != "bridge" {
			return fmt.Errorf("%s is a %s, not a bridge", s.Port.Parent, parent.Type())
		}
		inPod, err := s.attributes(s.Interface, parent)
		if err != nil {
			return err
		}
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU, attrs.MasterIndex = nodeName(s.Port.Name), inPod.MTU, parent.Attrs().Index
		if attrs.HardwareAddr, err = net.ParseMAC(madeMAC("node", s.Port.Name)); err != nil {
			return err
		}
		node, err := netns.Current()
		if err != nil {
			return err
		}
		defer node.Close()
		end, err := s.add(handle, node, &netlink.Veth{
			LinkAttrs: attrs, PeerName: s.Interface, PeerHardwareAddr: inPod.HardwareAddr,
			PeerNamespace: netlink.NsFd(pod.FD()), PeerMTU: uint32(inPod.MTU),
		})
		if err != nil {
			return err
		}
		if err := handle.LinkSetUp(end); err != nil {
			return fmt.Errorf("set %s up: %w", attrs.Name, err)
		}
		inside, err := pod.Netlink()
		if err != nil {
			return err
		}
		defer inside.Close()
		if made, err = inside.LinkByName(s.Interface); err != nil {
			return fmt.Errorf("find %s: %w", s.Interface, err)
		}
		return nil
	})
}
