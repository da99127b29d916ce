package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// planShared puts the management network on an interface of the host. The interface keeps its addresses.
func (w *work) planShared(m *management, asked *spec.Management) error {
	who := "management requests the interface " + asked.Uplink
	place := []string{"management", "uplink"}
	u := w.inv.Uplink(asked.Uplink)
	if u == nil {
		return at(&Impossible{who, "the host has no such interface, or its inventory (--host) lacks it", "ip -br address lists them; make the plan on the host itself"}, place)
	}
	if reason, remedy := Unshareable(u); reason != "" {
		return at(&Impossible{who, reason, remedy}, place)
	}
	m.Uplink = &Uplink{Name: u.Name, MAC: u.MAC, Bridge: u.Kind == kindBridge}
	// A bridge takes the lowest address of its ports, unless it was given one (br_stp_recalculate_bridge_id
	// in net/bridge/br_stp_if.c): this one is higher than those of cards, and than nearly all that kernels choose by
	// chance, which may begin with fe too.
	m.MAC = "fe:ff:ff" + hashedMAC(w.prefix, spec.ManagementLink, ".")[len("00:00:00"):]
	m.link.mtu = u.MTU
	if err := w.chooseShared(m, u, asked); err != nil {
		return err
	}
	how := "programs at it redirect the nodes' packets; its addresses and routes stay"
	if m.Uplink.Bridge {
		how = "a bridge, of which " + m.Device + " is a port"
	}
	m.because("on %s as the file asks: %s", u.Name, how)
	m.because("no DNS and no DHCP by the lab, as the network is shared: the nodes resolve each other by /etc/hosts")
	return nil
}

// chooseShared takes the network of the uplink that the nodes' addresses are of, and checks those.
func (w *work) chooseShared(m *management, u *host.Uplink, asked *spec.Management) error {
	place := []string{"management", "addresses"}
	wrong := func(remedy, reason string, args ...any) error {
		return at(&Conflict{"management", fmt.Sprintf(reason, args...), remedy}, place)
	}
	first, last, given := asked.AddressRange()
	own := slices.DeleteFunc(slices.Clone(u.Addresses), func(p netip.Prefix) bool {
		return p.Bits() > longestShared || given && !p.Contains(first)
	})
	if len(own) == 0 {
		return wrong("write addresses of a network that it is on", "%s has the addresses %s, and %s", u.Name, prefixTexts(u.Addresses), map[bool]string{
			true: first.String() + " is not of any of their networks", false: "none of their networks has room for nodes"}[given])
	}
	m.subnet, m.Address = own[0].Masked(), own[0].Addr().String()
	m.Subnet = m.subnet.String()
	if !given {
		if own[0].Addr().As4()[3] != hostNumber {
			return wrong(`name free addresses, as addresses: "172.16.142.2-172.16.142.20"`,
				"pos gives a host the address that ends in %d, and its machines the next ones; this host has %s", hostNumber, m.Address)
		}
		first = own[0].Addr().Next()
		last = first
		for range maxPosNumber - firstNodeNumber {
			last = last.Next()
		}
		if end := lastAddress(m.subnet).Prev(); end.Less(last) {
			last = end
		}
	}
	m.first, m.number = first, int(first.As4()[3])
	has := int(numberOf(last)-numberOf(first)) + 1
	if has < len(m.ends) {
		return wrong("use more addresses", "%s to %s are %d addresses, and %d nodes need one each", first, last, has, len(m.ends))
	}
	m.room = has
	last = first // of the nodes
	for range len(m.ends) - 1 {
		last = last.Next()
	}
	for _, one := range append([]netip.Addr{m.subnet.Addr(), lastAddress(m.subnet)}, prefixAddresses(u.Addresses)...) {
		if !one.Less(first) && !last.Less(one) {
			return wrong("use others", "the nodes would have %s to %s, and %s is the host's own, or not a host address", first, last, one)
		}
	}
	if !m.subnet.Contains(last) {
		return wrong("use others", "the nodes would have %s to %s, and the network of %s is %s", first, last, u.Name, m.subnet)
	}
	if other := w.measuredNetwork(m.subnet); other.IsValid() {
		return wrong("give the links other addresses", "%s, the network of %s, overlaps %s, a network of the lab's links", m.subnet, u.Name, other)
	}
	m.because("%s to %s of %s, the network of %s, %s", first, last, m.subnet, u.Name,
		map[bool]string{true: "as the file asks", false: "those that pos gives to the machines of " + m.Address}[given])
	return nil
}

// longestShared is the longest prefix of a network with room for a node beside the host.
const longestShared = 30

// kindBridge is the kernel's name for its bridges.
const kindBridge = "bridge"

// Unshareable says why an interface of the host cannot carry a management network, and what to do; empty
// where it can. It is pure.
func Unshareable(u *host.Uplink) (reason, remedy string) {
	const another = "name another interface"
	switch {
	case !u.Ethernet:
		return "it is not an Ethernet interface", another
	case u.Wireless:
		return "an access point accepts frames from one address per station, and the nodes have their own", "use a cable, or mode: private"
	case slices.Contains([]string{"macvlan", "macvtap", "ipvlan", "ipvtap"}, u.Kind):
		return fmt.Sprintf("it is a %s, which receives frames only for its own address", u.Kind), "name the interface below it"
	case u.Kind == "openvswitch" || u.MasterKind == "openvswitch":
		return "it belongs to Open vSwitch, which decides what passes there", "name a card or a Linux bridge, or use mode: private"
	case u.Master != "":
		return fmt.Sprintf("it is a port of the %s %s, which receives its frames", strings.TrimSpace(u.MasterKind), u.Master), "write uplink: " + u.Master
	case !u.Up:
		return "it is down", "ip link set " + u.Name + " up"
	case !u.Carrier:
		return "it has no carrier, so nines cannot check whether the nodes' addresses are free", "plug its cable in, or " + another
	case u.LRO:
		return "it merges received packets (large-receive-offload), which cannot be forwarded", "ethtool -K " + u.Name + " lro off"
	case len(u.Addresses) == 0:
		return "it has no IPv4 address", "give it one, or name the interface that has it"
	}
	return "", ""
}

func prefixAddresses(list []netip.Prefix) []netip.Addr {
	var all []netip.Addr
	for _, p := range list {
		all = append(all, p.Addr())
	}
	return all
}

func prefixTexts(list []netip.Prefix) string {
	var all []string
	for _, p := range list {
		all = append(all, p.String())
	}
	return strings.Join(all, ", ")
}
