package link

import (
	"fmt"
	"net"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/testbed/journal"
	"nines.dev/nines/testbed/netns"
	"nines.dev/nines/testbed/plan"
)

// makeMacvlan gives each endpoint a macvlan device in bridge mode, made in its
// node, on a private dummy device in the fabric, or on an interface of the host:
//
//	ip link add PARENT type dummy
//	ip link add link PARENT name IF address MAC netns NODE type macvlan mode bridge
func makeMacvlan(s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	if l.Parent != "" {
		return s.onHostParent(l, endpoints)
	}
	return s.inFabric(func(f *fabric) error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = l.Device
		attrs.MTU = l.MTU
		attrs.TxQLen = txQueueLen
		parent, isNew, err := s.findOrAdd(f, l, &netlink.Dummy{LinkAttrs: attrs})
		if err != nil {
			return err
		}
		if isNew {
			values, err := f.ethtool.apply(l.Device, honest(false))
			if err != nil {
				return err
			}
			describe(parent, values)
			s.record("", l.Name, l.Device, values)
			if err := f.LinkSetUp(parent); err != nil {
				return fmt.Errorf("set %s up: %w", l.Device, err)
			}
		}
		return s.addMacvlans(f.Handle, l, parent, endpoints)
	})
}

func (s *Site) onHostParent(l plan.Link, endpoints []plan.Endpoint) error {
	ns, err := netns.Current()
	if err != nil {
		return err
	}
	defer ns.Close()
	handle, err := ns.Netlink()
	if err != nil {
		return err
	}
	defer handle.Close()
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
	attrs.Namespace = netlink.NsFd(ns.FD())
	if attrs.HardwareAddr, err = net.ParseMAC(i.MAC); err != nil {
		return err
	}
	step := journal.Step{Link: l.Name, Node: e.Node, Holder: holder.Step}
	return s.add(handle, step, &netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_BRIDGE})
}
