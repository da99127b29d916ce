package link

import (
	"context"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/journal"
	"nines.dev/nines/plan"
)

// The tunnel of a vxlan link. Both its hosts are namespaces of the link's own, so all vxlan links have
// the same.
const (
	vxlanDevice = "vxlan0"
	vxlanID     = 1
	vxlanPort   = 4789 // RFC 7348, 5
	// vxlanHead is what the tunnel adds to a frame: an outer IPv4 and UDP header, that of VXLAN, and the
	// frame's own Ethernet header (RFC 7348, 5).
	vxlanHead = 20 + 8 + 8 + 14
)

// makeVXLAN joins two nodes by a tunnel, as an overlay network joins pods of two hosts. Each host is a
// network namespace with a bridge:
//
//	node ─ IF ── FABRIC_DEVICE ─ bridge ─ vxlan0 ┐            ┌ vxlan0 ─ bridge ─ FABRIC_DEVICE ── IF ─ node
//	                                             └ eth0 ═ eth0 ┘
//
//	ip link add eth0 mtu MTU+50 type veth peer name eth0 netns OTHER
//	ip link add vxlan0 mtu MTU master BRIDGE type vxlan id 1 local HERE remote THERE dev eth0 dstport 4789 nolearning
//
// Two ends in one namespace would not do: the kernel passes a packet for an address of its own from one
// VXLAN device to the other without a tunnel (encap_bypass_if_local in drivers/net/vxlan/vxlan_core.c).
func makeVXLAN(_ context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	if len(endpoints) != 2 {
		return fmt.Errorf("joins two endpoints, not %d", len(endpoints))
	}
	var hosts [2]Holder
	for i := range hosts {
		var err error
		if hosts[i], err = s.ownNetwork(l, hostName(i)); err != nil {
			return err
		}
	}
	u, err := s.makeUnderlay(l, hosts, vxlanHead)
	if err != nil {
		return err
	}
	for i, e := range endpoints {
		err := inFabricOf(u.hosts[i], func(f *fabric) error {
			card, err := f.LinkByName(underlayDevice)
			if err == nil {
				err = u.giveAddress(f.Handle, card, i)
			}
			if err != nil {
				return fmt.Errorf("give %s its address: %w", underlayDevice, err)
			}
			bridge, err := s.bridge(f, l)
			if err != nil {
				return err
			}
			if err := s.addVXLAN(f, l, u, vxlanAt{i, card.Attrs().Index, bridge.Attrs().Index}); err != nil {
				return err
			}
			_, err = s.addFabricPair(f, l, e, bridge.Attrs().Index)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// vxlanAt is the host whose tunnel it is, and the indices of its card and its bridge.
type vxlanAt struct{ host, card, bridge int }

// addVXLAN makes the tunnel's device of a host. Its only address for all frames is the other host, so
// it has nothing to learn.
func (s *Site) addVXLAN(f *fabric, l plan.Link, u *underlay, at vxlanAt) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.TxQLen, attrs.MasterIndex = vxlanDevice, l.MTU, txQueueLen, at.bridge
	device := &netlink.Vxlan{
		LinkAttrs: attrs, VxlanId: vxlanID, Port: vxlanPort, VtepDevIndex: at.card,
		SrcAddr: net.ParseIP(u.address(at.host)), Group: net.ParseIP(u.address(1 - at.host)),
	}
	if err := s.add(f.Handle, journal.Step{Link: l.Name, Holder: f.holder.Step}, device); err != nil {
		return err
	}
	values, err := f.ethtool.apply(vxlanDevice, offloadsOff)
	if err != nil {
		return err
	}
	describe(device, values)
	values["tunnel"] = fmt.Sprintf("VXLAN, port %d, to %s", vxlanPort, u.address(1-at.host))
	s.record("", l.Name, vxlanDevice+" of "+hostName(at.host), values)
	if err := f.LinkSetUp(device); err != nil {
		return fmt.Errorf("set %s up: %w", vxlanDevice, err)
	}
	return nil
}
