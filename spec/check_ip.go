package spec

import (
	"fmt"
	"net/netip"
)

const (
	// leastIPv6FrameBytes holds IPv6, UDP and the payload of 18 bytes: FRAME_MIN_BYTES_IP6 of engine/packet/frame.h.
	leastIPv6FrameBytes = 84
	// stampedIPv6FrameBytes has room for the second stamp, by which packets are known behind headers that a device adds.
	stampedIPv6FrameBytes = 106
)

// ipVersion checks what IPv6 traffic needs.
func (c *checker) ipVersion(t *Traffic) {
	switch {
	case t.IP != 4 && t.IP != 6:
		c.fail(fmt.Sprintf("there is no traffic of IP version %d", t.IP), "4 or 6", "", "traffic", "ip")
	case t.IP == 6 && t.FrameBytes < leastIPv6FrameBytes:
		c.fail(fmt.Sprintf("a frame of %d bytes does not hold the headers of IPv6 and UDP and the payload of 18 bytes", t.FrameBytes),
			fmt.Sprintf("%d to 9018 with ip: 6", leastIPv6FrameBytes),
			fmt.Sprintf("add frame_bytes: %d, or %d, from which on packets have a second stamp and are known behind added headers", leastIPv6FrameBytes, stampedIPv6FrameBytes),
			"traffic", "frame_bytes")
	case t.IP == 6 && (c.isRemote(t.From) || c.isRemote(t.To)):
		c.fail("traffic that ends in a pod has the IP version of the cluster's network", "4", "remove ip", "traffic", "ip")
	}
}

// listsOnlyIPv6 is true for traffic whose ends have no IPv4 address: the file lists those of one of them at least.
func (e *Experiment) listsOnlyIPv6(t *Traffic) bool {
	six := false
	for _, end := range []string{t.From, t.To} {
		name, iface := splitEndpoint(end)
		n := e.Topology.Nodes[name]
		if n == nil {
			continue
		}
		for _, text := range n.Addresses[iface] {
			a, err := netip.ParsePrefix(text)
			if err == nil && a.Addr().Is4() {
				return false
			}
			six = six || err == nil && !a.Addr().IsLinkLocalUnicast()
		}
	}
	return six
}
