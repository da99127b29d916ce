package link

import (
	"context"
	"fmt"
	"net"
	"slices"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// makeMacvlan makes a macvlan device in bridge mode for each endpoint, in its node, on a private
// parent in the fabric or on an interface of the host:
//
//	ip link add PARENT type veth peer name PREFIX~N
//	ip link add link PARENT name IF address MAC netns NODE type macvlan mode bridge
//
// The private parent is a veth with an unused peer: it has a carrier, and every kernel that runs
// labs has veth, which is not true of dummy devices.
func makeMacvlan(_ context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	if l.Parent != "" {
		return s.onHostParent(l, endpoints)
	}
	return s.inFabric(func(f *fabric) error {
		parent, err := s.privateParent(f, l)
		if err != nil {
			return err
		}
		return s.addMacvlans(f.Handle, l, parent, endpoints)
	})
}

func (s *Site) privateParent(f *fabric, l plan.Link) (netlink.Link, error) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = l.Device
	attrs.MTU = l.MTU
	attrs.TxQLen = txQueueLen
	attrs.NumTxQueues, attrs.NumRxQueues = 1, 1
	quiet := s.quietEnd(l)
	parent, isNew, err := s.findOrAdd(f, l, &netlink.Veth{LinkAttrs: attrs, PeerName: quiet, PeerMTU: uint32(l.MTU)})
	if err != nil || !isNew {
		return parent, err
	}
	values, err := f.ethtool.apply(l.Device, offloadsOff)
	if err != nil {
		return nil, err
	}
	describe(parent, values)
	values["mode"] = "bridge"
	s.record("", l.Name, l.Device, values)
	for _, name := range []string{quiet, l.Device} {
		device, err := f.LinkByName(name)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", name, err)
		}
		if err := f.LinkSetUp(device); err != nil {
			return nil, fmt.Errorf("set %s up: %w", name, err)
		}
	}
	return parent, nil
}

// quietEnd names the far end of a private parent; a prefix has at most 8 bytes, and no other
// device's name contains a tilde.
func (s *Site) quietEnd(l plan.Link) string {
	for i := range s.Plan.Links {
		if s.Plan.Links[i].Name == l.Name {
			return fmt.Sprintf("%s~%d", s.Plan.Prefix, i+1)
		}
	}
	return s.Plan.Prefix + "~"
}

func (s *Site) onHostParent(l plan.Link, endpoints []plan.Endpoint) error {
	return onHost(func(handle *netlink.Handle) error { return s.onParent(handle, l, endpoints) })
}

func (s *Site) onParent(handle *netlink.Handle, l plan.Link, endpoints []plan.Endpoint) error {
	parent, err := handle.LinkByName(l.Parent)
	if err != nil {
		return fmt.Errorf("parent %q: %w", l.Parent, err)
	}
	if parent.Attrs().MTU < l.MTU {
		return fmt.Errorf("parent %q has an MTU of %d, the link needs %d; raise it, or send smaller frames",
			l.Parent, parent.Attrs().MTU, l.MTU)
	}
	return s.addMacvlans(handle, l, parent, endpoints)
}

// oneFrame is the longest run of frames that the kernel's TCP may hand over as one packet.
const oneFrame = 1

// gsoMaxSegs is the name of that among a device's settings.
const gsoMaxSegs = "gso_max_segs"

// segmentedBefore keeps packets of several frames away from a macvlan, unless the file wants them: it says for each that
// it cuts them (ALWAYS_ON_OFFLOADS in drivers/net/macvlan.c), whatever ethtool sets, and hands them whole to another
// macvlan. TCP regards gso_max_segs, and what others send the kernel cuts before the device (gso_features_check in
// net/core/dev.c):
//
//	ip link set IF gso_max_segs 1
func segmentedBefore(l plan.Link) uint32 {
	if slices.Contains(l.Offloads, spec.OffloadTSO) || slices.Contains(l.Offloads, spec.OffloadGSO) {
		return 0
	}
	return oneFrame
}

func (s *Site) addMacvlans(handle *netlink.Handle, l plan.Link, parent netlink.Link, endpoints []plan.Endpoint) error {
	for _, e := range endpoints {
		if err := s.addMacvlan(handle, l, parent, e); err != nil {
			return err
		}
	}
	return nil
}

func (s *Site) addMacvlan(handle *netlink.Handle, l plan.Link, parent netlink.Link, e plan.Endpoint) error {
	holder, err := s.node(e.Node)
	if err != nil {
		return err
	}
	i, err := s.interfaceOf(e)
	if err != nil {
		return err
	}
	ns, err := netns.OfProcess(holder.PID)
	if err != nil {
		return err
	}
	defer ns.Close()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = i.Name
	attrs.MTU = l.MTU
	attrs.TxQLen = txQueueLen
	attrs.ParentIndex = parent.Attrs().Index
	attrs.GSOMaxSegs = segmentedBefore(l)
	attrs.Namespace = netlink.NsFd(ns.FD())
	if attrs.HardwareAddr, err = net.ParseMAC(i.MAC); err != nil {
		return err
	}
	step := journal.Step{Link: l.Name, Node: e.Node, Holder: holder.Step}
	return s.add(handle, step, &netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_BRIDGE})
}
