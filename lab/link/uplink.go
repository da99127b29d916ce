package link

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	tool "nines.dev/nines/kernel/ethtool"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// ReadUplink reads an interface of the host that a management network may be put on; nil where there is
// none of that name.
func ReadUplink(name string) (*host.Uplink, error) {
	var found *host.Uplink
	err := onHost(func(handle *netlink.Handle) error {
		device, err := handle.LinkByName(name)
		if errors.As(err, new(netlink.LinkNotFoundError)) {
			return nil
		}
		if err != nil {
			return err
		}
		found, err = readUplink(handle, device)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look at the interface %s of this host: %w", name, err)
	}
	return found, nil
}

// WithUplinks returns an inventory that includes the interfaces of this host which experiments put their
// management networks on, as far as they are there.
func WithUplinks(inv *host.Inventory, experiments ...*spec.Experiment) (*host.Inventory, error) {
	given := *inv
	for _, e := range experiments {
		if e.Management == nil || e.Management.Uplink == "" || given.Uplink(e.Management.Uplink) != nil {
			continue
		}
		found, err := ReadUplink(e.Management.Uplink)
		if err != nil {
			return nil, err
		}
		if found != nil {
			given.Uplinks = append(slices.Clone(given.Uplinks), *found)
		}
	}
	return &given, nil
}

func readUplink(handle *netlink.Handle, device netlink.Link) (*host.Uplink, error) {
	attrs := device.Attrs()
	u := &host.Uplink{
		Name: attrs.Name, Kind: kindOf(device), MAC: attrs.HardwareAddr.String(), MTU: attrs.MTU,
		Ethernet: attrs.EncapType == "ether", Up: attrs.RawFlags&unix.IFF_UP != 0, Carrier: attrs.RawFlags&unix.IFF_LOWER_UP != 0,
	}
	_, err := os.Lstat("/sys/class/net/" + attrs.Name + "/phy80211")
	u.Wireless = err == nil
	if attrs.MasterIndex != 0 {
		master, err := handle.LinkByIndex(attrs.MasterIndex)
		if err != nil {
			return nil, err
		}
		u.Master, u.MasterKind = master.Attrs().Name, kindOf(master)
	}
	addresses, err := netns.Whole(func() ([]netlink.Addr, error) { return handle.AddrList(device, netlink.FAMILY_V4) })
	if err != nil {
		return nil, fmt.Errorf("list its addresses: %w", err)
	}
	for _, a := range addresses {
		if prefix := prefixOf(a.IPNet); a.Scope != unix.RT_SCOPE_HOST && prefix.IsValid() && !prefix.Addr().IsLinkLocalUnicast() {
			u.Addresses = append(u.Addresses, prefix)
		}
	}
	u.LRO, err = receivesLarge(attrs.Name)
	return u, err
}

// kindOf is the kernel's name for the kind of a device that it makes itself; empty for a card.
func kindOf(device netlink.Link) string {
	if kind := device.Type(); kind != "device" {
		return kind
	}
	return ""
}

// receivesLarge is true for a device with large receive offload, which a bridge would turn off
// (dev_disable_lro in net/core/dev.c).
func receivesLarge(name string) (bool, error) {
	socket, err := tool.Open()
	if err != nil {
		return false, err
	}
	defer socket.Close()
	features, err := socket.ByName(name)
	if isUnsupported(err) {
		return false, nil
	}
	return features["rx-lro"].Active, err
}

// checkUplink finds the uplink of a plan, and refuses it where it is not as it was planned on.
func checkUplink(handle *netlink.Handle, m *plan.Management) (netlink.Link, error) {
	device, err := handle.LinkByName(m.Uplink.Name)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil, exit.Lacksf("this host no longer has the interface %s, which the management network is planned on", m.Uplink.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", m.Uplink.Name, err)
	}
	u, err := readUplink(handle, device)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", m.Uplink.Name, err)
	}
	if reason, remedy := plan.Unshareable(u); reason != "" {
		return nil, exit.Lacksf("the management network cannot be put on %s: %s; %s", u.Name, reason, remedy)
	}
	if changed := uplinkChanges(m, u); len(changed) > 0 {
		return nil, exit.Wrongf("%s %s; make the plan again", u.Name, strings.Join(changed, ", "))
	}
	return device, nil
}

// uplinkChanges says how an uplink is not as a plan has it. It is pure.
func uplinkChanges(m *plan.Management, u *host.Uplink) []string {
	var list []string
	if !strings.EqualFold(u.MAC, m.Uplink.MAC) {
		list = append(list, fmt.Sprintf("has the MAC address %s, and had %s when the lab was planned", u.MAC, m.Uplink.MAC))
	}
	if (u.Kind == "bridge") != m.Uplink.Bridge {
		list = append(list, "was replaced by a device of another kind")
	}
	if !slices.ContainsFunc(u.Addresses, func(p netip.Prefix) bool { return p.String() == m.HostAddress() }) {
		list = append(list, "no longer has the address "+m.HostAddress())
	}
	return list
}

// UplinkDifferences says how the uplink of a shared network is not as the lab has made it. The token is
// that of the lab's programs.
func UplinkDifferences(p *plan.Plan, token string) ([]string, error) {
	m := p.Management
	if m == nil || !m.Shared() {
		return nil, nil
	}
	var list []string
	return list, onHost(func(handle *netlink.Handle) error {
		uplink, err := handle.LinkByName(m.Uplink.Name)
		if errors.As(err, new(netlink.LinkNotFoundError)) {
			list = append(list, "is gone")
			return nil
		}
		if err != nil {
			return err
		}
		u, err := readUplink(handle, uplink)
		if err != nil {
			return err
		}
		list = uplinkChanges(m, u)
		if !u.Up {
			list = append(list, "is down")
		}
		device, err := handle.LinkByName(m.Device)
		if errors.As(err, new(netlink.LinkNotFoundError)) {
			return nil // told of as the host's end
		}
		if err != nil {
			return err
		}
		if m.Uplink.Bridge {
			if device.Attrs().MasterIndex != uplink.Attrs().Index {
				list = append(list, m.Device+" is no longer a port of it")
			}
			return nil
		}
		lost, err := lostPrograms(handle, uplink, device, token)
		if err != nil {
			return err
		}
		for _, program := range lost {
			list = append(list, fmt.Sprintf("the program %s at %s is gone", program.name, program.device.Attrs().Name))
		}
		has, err := receivedAddresses(handle, uplink)
		if err != nil {
			return err
		}
		for _, mac := range nodeAddresses(p) {
			if !has[mac.String()] {
				list = append(list, "no longer receives what is for "+mac.String())
			}
		}
		return nil
	})
}

// nodeAddresses are the MAC addresses of the nodes on the management network.
func nodeAddresses(p *plan.Plan) []net.HardwareAddr {
	var list []net.HardwareAddr
	for _, n := range p.Nodes {
		for _, i := range n.Interfaces {
			if mac, err := net.ParseMAC(i.MAC); err == nil && i.Link == p.Management.Link {
				list = append(list, mac)
			}
		}
	}
	return list
}
