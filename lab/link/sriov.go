package link

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/plan"
)

// makeSRIOV joins two nodes by a pair of virtual functions that share a VLAN, which
// Hardware.Prepare has set up:
//
//	echo 8 > /sys/class/net/PORT/device/sriov_numvfs
//	ip link set PORT vf N mac MAC vlan V trust on spoofchk off
//	ip link set VF netns NODE name IF
//
// A function that DPDK opens, or a virtual machine has, is bound to a driver for programs, so it
// has no interface to move.
func makeSRIOV(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	for _, e := range endpoints {
		values := map[string]string{
			"pci": e.Function.Address, "port": e.Function.Name, "vf": strconv.Itoa(e.Function.Index), "vlan": strconv.Itoa(e.Function.VLAN),
			"trust": onOff(e.Function.Trust), "spoof_check": onOff(e.Function.SpoofCheck),
		}
		if e.Function.RateMbit > 0 {
			values["rate_mbit"] = strconv.Itoa(e.Function.RateMbit)
		}
		if err := s.moveFunction(ctx, l, e, values); err != nil {
			return err
		}
	}
	return nil
}

// moveFunction gives a node the interface of a function, under the endpoint's name. No journal step
// is needed: undoing the function's own step brings the interface back from wherever it is.
func (s *Site) moveFunction(ctx context.Context, l plan.Link, e plan.Endpoint, values map[string]string) error {
	var bus pci.Bus
	values["driver"] = bus.Driver(e.Function.Address)
	if e.Function.Driver != "" {
		s.record(e.Node, l.Name, e.Interface, values)
		return nil
	}
	holder, err := s.node(e.Node)
	if err != nil {
		return err
	}
	i, err := s.interfaceOf(e)
	if err != nil {
		return err
	}
	name, err := bus.AwaitInterface(ctx, e.Function.Address)
	if err != nil {
		return err
	}
	if err := s.prepareInterface(name, l, i, e); err != nil {
		return err
	}
	ns, err := netns.OfProcess(holder.PID)
	if err != nil {
		return err
	}
	defer ns.Close()
	device, err := netlink.LinkByName(s.temporaryName(e))
	if err != nil {
		return fmt.Errorf("find %s: %w", s.temporaryName(e), err)
	}
	if err := netlink.LinkSetNsFd(device, ns.FD()); err != nil {
		return fmt.Errorf("give %s to node %q: %w", name, e.Node, err)
	}
	s.record(e.Node, l.Name, i.Name, values)
	return inside(holder, func(_ *netns.Namespace, handle *netlink.Handle) error {
		device, err := handle.LinkByName(s.temporaryName(e))
		if err != nil {
			return fmt.Errorf("find %s in node %q: %w", s.temporaryName(e), e.Node, err)
		}
		if err := handle.LinkSetName(device, i.Name); err != nil {
			return fmt.Errorf("name it %s in node %q: %w", i.Name, e.Node, err)
		}
		return nil
	})
}

// prepareInterface sets an interface down, as someone may have set it up since, and applies the plan's
// values. It turns IPv6 off on the interface, as in the node.
func (s *Site) prepareInterface(name string, l plan.Link, i plan.Interface, e plan.Endpoint) error {
	device, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find %s: %w", name, err)
	}
	if err := netlink.LinkSetDown(device); err != nil {
		return fmt.Errorf("set %s down: %w", name, err)
	}
	if device.Attrs().HardwareAddr.String() != i.MAC {
		mac, err := net.ParseMAC(i.MAC)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetHardwareAddr(device, mac); err != nil {
			return fmt.Errorf("set the address of %s to %s: %w", name, i.MAC, err)
		}
	}
	if device.Attrs().MTU != l.MTU {
		if err := netlink.LinkSetMTU(device, l.MTU); err != nil {
			return fmt.Errorf("set the MTU of %s to %d: %w", name, l.MTU, err)
		}
	}
	if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0o644); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("switch IPv6 of %s off: %w", name, err)
	}
	if err := netlink.LinkSetName(device, s.temporaryName(e)); err != nil {
		return fmt.Errorf("rename %s: %w", name, err)
	}
	return nil
}

// temporaryName is an interface's temporary name while it moves from the host into a node. Neither uses
// such a name; two names with the same ending are in different links.
func (s *Site) temporaryName(e plan.Endpoint) string {
	for i, l := range s.Plan.Links {
		for j, other := range l.Endpoints {
			if other.Node == e.Node && other.Interface == e.Interface {
				return fmt.Sprintf("%s~%d%c", s.Plan.Prefix, i+1, 'a'+j)
			}
		}
	}
	return s.Plan.Prefix + "~"
}
