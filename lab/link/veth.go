package link

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
)

// txQueueLen is set on every device; it is the kernel's default for Ethernet. It has no effect with
// the noqueue qdisc of virtual devices, but with a qdisc that a user adds by tc.
const txQueueLen = 1000

// end is one end of a veth pair.
type end struct {
	name   string
	mac    string
	holder Holder
	// ns is the namespace of a second end that no holder of the lab's has; nil: the holder's.
	ns *netns.Namespace
}

// makeVeth joins two nodes by a pair, with both ends created under their final names in their
// nodes:
//
//	ip -n A link add IF_A address MAC_A mtu M numtxqueues 1 numrxqueues 1 type veth
//	   peer name IF_B address MAC_B netns B
func makeVeth(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	if len(endpoints) != 2 {
		return fmt.Errorf("joins two endpoints, not %d", len(endpoints))
	}
	for i, e := range endpoints {
		if e.Guest {
			return makeGuestVeth(ctx, s, l, e, endpoints[1-i])
		}
	}
	var ends [2]end
	for i, e := range endpoints {
		var err error
		if ends[i], err = s.nodeEnd(e); err != nil {
			return err
		}
	}
	step := journal.Step{Link: l.Name, Node: endpoints[0].Node}
	return inside(ends[0].holder, func(_ *netns.Namespace, handle *netlink.Handle) error {
		return s.addPair(handle, step, ends[0], ends[1], l.MTU, 0)
	})
}

func (s *Site) nodeEnd(e plan.Endpoint) (end, error) {
	holder, err := s.node(e.Node)
	if err != nil {
		return end{}, err
	}
	i, err := s.interfaceOf(e)
	return end{name: i.Name, mac: i.MAC, holder: holder}, err
}

// addPair makes a veth pair whose first end is where handle is. One queue per device: AF_XDP
// sockets and threads then see every packet on any host.
func (s *Site) addPair(handle *netlink.Handle, step journal.Step, first, second end, mtu, master int) error {
	ns := second.ns
	if ns == nil {
		var err error
		if ns, err = netns.OfProcess(second.holder.PID); err != nil {
			return err
		}
		defer ns.Close()
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = first.name
	attrs.MTU = mtu
	attrs.TxQLen = txQueueLen
	attrs.NumTxQueues, attrs.NumRxQueues = 1, 1
	attrs.MasterIndex = master
	pair := &netlink.Veth{
		LinkAttrs:       attrs,
		PeerName:        second.name,
		PeerNamespace:   netlink.NsFd(ns.FD()),
		PeerMTU:         uint32(mtu),
		PeerTxQLen:      txQueueLen,
		PeerNumTxQueues: 1,
		PeerNumRxQueues: 1,
	}
	var firstErr, secondErr error
	if first.mac != "" {
		pair.HardwareAddr, firstErr = net.ParseMAC(first.mac)
	}
	if second.mac != "" {
		pair.PeerHardwareAddr, secondErr = net.ParseMAC(second.mac)
	}
	if err := errors.Join(firstErr, secondErr); err != nil {
		return err
	}
	step.Holder = first.holder.Step
	return s.add(handle, step, pair)
}
