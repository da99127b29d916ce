package link

import (
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
)

// bridgeAgeingSeconds keeps learnt addresses for longer than any trial, so that no packet of a
// quiet flow is flooded. (With ageing 0 the bridge would learn nothing.)
const bridgeAgeingSeconds = 1_000_000

// makeBridge joins endpoints by a Linux bridge in the fabric namespace:
//
//	ip link add BR type bridge ageing_time … mcast_snooping 0
//	ip link add FABRIC_DEVICE master BR type veth peer name IF netns NODE
func makeBridge(_ context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	return s.inFabric(func(f *fabric) error {
		bridge, err := s.bridge(f, l)
		if err != nil {
			return err
		}
		if l.Management {
			if err := s.joinHost(f, l, bridge, endpoints); err != nil {
				return err
			}
		}
		for _, e := range endpoints {
			if _, err := s.addFabricPair(f, l, e, bridge.Attrs().Index); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Site) bridge(f *fabric, l plan.Link) (netlink.Link, error) {
	// The kernel counts these times in hundredths of a second (USER_HZ).
	ageing, off := uint32(bridgeAgeingSeconds*100), false
	attrs := netlink.NewLinkAttrs()
	attrs.Name = l.Device
	attrs.MTU = l.MTU
	attrs.TxQLen = txQueueLen
	bridge, isNew, err := s.findOrAdd(f, l, &netlink.Bridge{
		LinkAttrs:         attrs,
		AgeingTime:        &ageing,
		MulticastSnooping: &off,
	})
	if err != nil || !isNew {
		return bridge, err
	}
	values, err := f.ethtool.apply(l.Device, offloadsOf(l))
	if err != nil {
		return nil, err
	}
	describe(bridge, values)
	values["ageing_seconds"] = fmt.Sprint(bridgeAgeingSeconds)
	values["multicast_snooping"] = "off"
	values["stp"] = "off" // the kernel's default for a new bridge; VLAN filtering is off too
	if err := bypassNetfilter(f.ns); err != nil {
		return nil, err
	}
	values["netfilter"] = "off"
	s.record("", l.Name, l.Device, values)
	if err := f.LinkSetUp(bridge); err != nil {
		return nil, fmt.Errorf("set %s up: %w", l.Device, err)
	}
	return bridge, nil
}

// bridgeFilter begins the sysctls that send bridged packets through the tables.
const bridgeFilter = "net/bridge/bridge-nf-call-"

var netfilterTables = []string{"iptables", "ip6tables", "arptables"}

func isNoSysctl(err error) bool { return errors.Is(err, netns.ErrNoSysctl) }

// bypassNetfilter keeps bridged packets out of iptables, arptables and ip6tables, where
// br_netfilter, on by default in each new namespace, would send them.
func bypassNetfilter(ns *netns.Namespace) error {
	return ns.Do(func() error {
		for _, table := range netfilterTables {
			err := netns.WriteSysctl(bridgeFilter+table, "0")
			if err != nil && !isNoSysctl(err) { // no br_netfilter
				return err
			}
		}
		return nil
	})
}
