package link

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// A node's own addresses are on its loopback, beside 127.0.0.1: a router's, or one that several nodes serve.

// Own gives a node its own addresses, and takes those of an earlier plan that it no longer has. Others, which its own
// programs may have added, stay.
func (s *Site) Own(n plan.Node, before []string) error {
	if len(n.Loopback)+len(before) == 0 {
		return nil
	}
	holder, err := s.node(n.Name)
	if err != nil {
		return err
	}
	return inside(holder, func(ns *netns.Namespace, handle *netlink.Handle) error {
		device, err := handle.LinkByName(spec.Loopback)
		if err != nil {
			return fmt.Errorf("node %q: find its loopback: %w", n.Name, err)
		}
		if slices.ContainsFunc(n.Loopback, isIPv6) {
			if err := ns.Sysctl("net/ipv6/conf/"+spec.Loopback+"/disable_ipv6", "0"); err != nil {
				return err
			}
		}
		if err := addAddresses(handle, device, n.Loopback); err != nil {
			return fmt.Errorf("node %q: its loopback: %w", n.Name, err)
		}
		for _, address := range before {
			parsed, err := netlink.ParseAddr(address)
			if err != nil || slices.Contains(n.Loopback, address) {
				continue
			}
			if err := handle.AddrDel(device, parsed); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
				return fmt.Errorf("node %q: remove %s from its loopback: %w", n.Name, address, err)
			}
		}
		return nil
	})
}
