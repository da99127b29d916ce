package link

import (
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
)

// underlay is the network below a tunnel: two hosts, each a network namespace of the link's own, and a
// pair of veth devices that stands for the cable between their cards.
type underlay struct {
	hosts [2]Holder
	macs  [2]net.HardwareAddr
}

// hostName is a host's name in its link.
func hostName(host int) string { return fmt.Sprintf("host-%d", host) }

// underlayDevice is a host's card.
const underlayDevice = "eth0"

// underlayBits is the length of the underlay's network.
const underlayBits = 30

// address is a host's address in the underlay: link-local (RFC 3927), as it is seen nowhere else.
func (u *underlay) address(host int) string { return fmt.Sprintf("169.254.0.%d", host+1) }

// makeUnderlay makes the pair between the hosts of a tunnel. Its MTU has room for the head that the
// tunnel adds to packets of the link.
//
//	ip link add eth0 mtu MTU+HEAD type veth peer name eth0 netns OTHER
func (s *Site) makeUnderlay(l plan.Link, hosts [2]Holder, head int) (*underlay, error) {
	u := &underlay{hosts: hosts}
	var ends [2]end
	for i, holder := range u.hosts {
		// Locally administered, and of this link's hosts only: nobody else is on the cable.
		u.macs[i] = net.HardwareAddr{0x02, 0, 0, 0, 0, byte(i + 1)}
		ends[i] = end{name: underlayDevice, mac: u.macs[i].String(), holder: holder}
	}
	err := inside(u.hosts[0], func(_ *netns.Namespace, handle *netlink.Handle) error {
		return s.addPair(handle, journal.Step{Link: l.Name}, ends[0], ends[1], l.MTU+head, 0)
	})
	for i := range u.hosts {
		if err == nil {
			err = s.prepareCard(l, u.hosts[i], i)
		}
	}
	return u, err
}

// prepareCard sets a host's card up, without offloads, as every device that packets are measured on.
func (s *Site) prepareCard(l plan.Link, holder Holder, host int) error {
	return inFabricOf(holder, func(f *fabric) error {
		values, err := f.ethtool.apply(underlayDevice, offloadsOff)
		if err != nil {
			return err
		}
		card, err := f.LinkByName(underlayDevice)
		if err != nil {
			return fmt.Errorf("find %s: %w", underlayDevice, err)
		}
		describe(card, values)
		s.record("", l.Name, underlayDevice+" of "+hostName(host), values)
		if err := f.LinkSetUp(card); err != nil {
			return fmt.Errorf("set %s up: %w", underlayDevice, err)
		}
		return nil
	})
}

// giveAddress gives a device of a host its address in the underlay, and the other host's address for
// good, so that no ARP runs in a trial. The device is the card, or a switch's own port.
func (u *underlay) giveAddress(handle *netlink.Handle, device netlink.Link, host int) error {
	other := 1 - host
	ip := &net.IPNet{IP: net.ParseIP(u.address(host)).To4(), Mask: net.CIDRMask(underlayBits, 32)}
	return errors.Join(
		handle.AddrReplace(device, &netlink.Addr{IPNet: ip}),
		handle.LinkSetUp(device),
		handle.NeighSet(&netlink.Neigh{
			LinkIndex: device.Attrs().Index, State: unix.NUD_PERMANENT,
			IP: net.ParseIP(u.address(other)), HardwareAddr: u.macs[other],
		}),
	)
}
