package spec

import (
	"fmt"
	"net"
)

// macs checks the MAC addresses that the user gives to interfaces; a link may have each only once.
func (c *checker) macs() {
	owner := map[string]string{} // link and address → endpoint
	for _, name := range c.nodeNames() {
		n := c.e.Topology.Nodes[name]
		interfacesOf(c, name, "mac", "", n.MAC, func(iface string, at []string) {
			mac, ok := c.mac(n.MAC[iface], at)
			link, known := c.ends[name+":"+iface]
			if !ok || !known {
				return
			}
			key := fmt.Sprint(link, " ", mac)
			if other, twice := owner[key]; twice {
				c.fail(fmt.Sprintf("%s is already the MAC address of %s", mac, other), "", "give each interface of a link its own", at...)
			}
			owner[key] = name + ":" + iface
		})
	}
}

// mac checks that an address is one of an interface.
func (c *checker) mac(text string, at []string) (net.HardwareAddr, bool) {
	mac, err := net.ParseMAC(text)
	switch {
	case err != nil || !matches(macPattern, text):
		c.fail(fmt.Sprintf("%q is not a MAC address", clip(text)), `such as "02:00:00:00:00:01"`, "", at...)
	case mac[0]&1 != 0: // the group bit, IEEE 802-2014, 8.2.2
		c.fail(fmt.Sprintf("%s is a group address, not an interface's", text), "unicast addresses, with an even first byte", "", at...)
	case mac.String() == "00:00:00:00:00:00":
		c.fail("no interface has this address", "unicast addresses", "", at...)
	default:
		return mac, true
	}
	return nil, false
}
