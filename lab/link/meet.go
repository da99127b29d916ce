package link

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
)

// Meet lets an interface of a node know its neighbours by other addresses than planned. An entry with an address of
// someone else's choice stays.
func Meet(h Holder, i plan.Interface, planned []plan.Neighbour) error {
	return inside(h, func(_ *netns.Namespace, handle *netlink.Handle) error {
		device, err := handle.LinkByName(i.Name)
		if err != nil {
			return err
		}
		index := device.Attrs().Index
		have, err := netns.Whole(func() ([]netlink.Neigh, error) { return handle.NeighList(index, unix.AF_UNSPEC) })
		if err != nil {
			return fmt.Errorf("list neighbours: %w", err)
		}
		for _, w := range i.Neighbours {
			ip := net.ParseIP(w.IP)
			mac, err := net.ParseMAC(w.MAC)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(have, func(n netlink.Neigh) bool {
				return n.State == unix.NUD_PERMANENT && n.IP.Equal(ip) && !ours(planned, n)
			}) {
				continue
			}
			entry := netlink.Neigh{LinkIndex: index, State: unix.NUD_PERMANENT, IP: ip, HardwareAddr: mac}
			if err := handle.NeighSet(&entry); err != nil {
				return fmt.Errorf("set neighbour %s: %w", w.IP, err)
			}
		}
		return nil
	})
}

// ours is true for an entry of the plan.
func ours(planned []plan.Neighbour, n netlink.Neigh) bool {
	return slices.ContainsFunc(planned, func(p plan.Neighbour) bool {
		return n.IP.Equal(net.ParseIP(p.IP)) && strings.EqualFold(n.HardwareAddr.String(), p.MAC)
	})
}
