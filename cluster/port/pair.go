package port

import (
	"fmt"
	"net"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
)

// addPair makes a veth pair from the node to the pod, with the node's end in a master; 0 is none. Undo deletes
// the node's end: a pod can do what it likes with its own.
//
//	ip link add NAME master MASTER type veth peer name IF address MAC netns POD; ip link set NAME up
func (s site) addPair(handle *netlink.Handle, pod *netns.Namespace, most, master int) (netlink.Link, error) {
	inPod, err := s.attributes(most)
	if err != nil {
		return nil, err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.MasterIndex = nodeName(s.Port.Name), inPod.MTU, master
	if attrs.HardwareAddr, err = net.ParseMAC(madeMAC("node", s.Port.Name)); err != nil {
		return nil, err
	}
	node, err := netns.Current()
	if err != nil {
		return nil, err
	}
	defer node.Close()
	end, err := s.add(handle, node, &netlink.Veth{
		LinkAttrs: attrs, PeerName: s.Interface, PeerHardwareAddr: inPod.HardwareAddr,
		PeerNamespace: netlink.NsFd(pod.FD()), PeerMTU: uint32(inPod.MTU),
	})
	if err != nil {
		return nil, err
	}
	if err := handle.LinkSetUp(end); err != nil {
		return nil, fmt.Errorf("bring %s up: %w", attrs.Name, err)
	}
	inside, err := pod.Netlink()
	if err != nil {
		return nil, err
	}
	defer inside.Close()
	made, err := inside.LinkByName(s.Interface)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", s.Interface, err)
	}
	return made, nil
}
