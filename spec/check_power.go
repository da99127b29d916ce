package spec

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// power checks the key power.
func (c *checker) power() {
	p := c.e.Power
	if p == nil {
		return
	}
	for i, protocol := range p.Protocols {
		if slices.Contains(p.Protocols[:i], protocol) {
			c.fail(fmt.Sprintf("%s is listed twice", protocol), "", "list each protocol once", "power", "protocols", strconv.Itoa(i))
		}
	}
	if p.Address == PowerOnManagement {
		if c.e.Management == nil {
			c.fail("the file has no management network to listen on", "", "add management: {}, or use address: 127.0.0.1", "power", "address")
		}
	} else if err := checkPowerAddress(p.Address); err != "" {
		c.fail(err, "a loopback address, or "+PowerOnManagement, "use 127.0.0.1, with an SSH tunnel from other machines", "power", "address")
	}
	served := 0
	for _, n := range c.e.Topology.Nodes {
		if n != nil && n.Runtime.Descriptor().Restarts() {
			served++
		}
	}
	switch last := p.FirstPort + served - 1; {
	case served == 0:
		c.fail("no node of the file can be switched off", "nodes with runtime: "+strings.Join(runtimesThatTake("restart"), ", "), "remove power, or use another runtime", "power")
	case slices.Contains(p.Protocols, PowerIPMI) && last > maxPort:
		c.fail(fmt.Sprintf("each of the %d nodes needs its own port, and the last would be %d", served, last), fmt.Sprintf("1 to %d", maxPort-served+1), "start at a lower port", "power", "first_port")
	}
}

// maxPort is the highest port of UDP and TCP.
const maxPort = 65535

// checkPowerAddress says why power cannot be served at an address; empty if it can.
func checkPowerAddress(text string) string {
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return fmt.Sprintf("%q is not an IP address", clip(text))
	case address.Zone() != "" || !address.Unmap().IsLoopback():
		return fmt.Sprintf("other machines can reach %s, and anyone who has the password, or guesses it from what IPMI sends before authentication, can switch the nodes off", text)
	}
	return ""
}
