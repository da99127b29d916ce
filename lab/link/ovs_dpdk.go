package link

import (
	"context"
	"errors"
	"fmt"

	"nines.dev/nines/plan"
)

// makeOVSDPDK joins endpoints by Open vSwitch with DPDK: a DPDK endpoint meets it at a
// vhost-user socket that the node's virtio-user device listens on, so that either side
// can be restarted; a kernel endpoint by a veth pair, whose far end is an AF_XDP or
// AF_PACKET port.
func makeOVSDPDK(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	if err := checkOVSMemory(l); err != nil {
		return err
	}
	return s.startOVS(ctx, l, endpoints, ovsConfig{Datapath: ovsUserDatapath, DPDK: l.Switch.DPDK, MTU: l.MTU})
}

// checkOVSMemory refuses memory in which no port could get its buffers. ovs-vswitchd
// itself would say so in its log only, and only when a guest has come.
func checkOVSMemory(l plan.Link) error {
	if l.Switch == nil || l.Switch.DPDK == nil {
		return errors.New("the plan gives it no memory for DPDK")
	}
	if have, least := l.Switch.DPDK.MemoryBytes, ovsLeastMemory(l.MTU); have < least {
		return fmt.Errorf("has %d MiB for DPDK, and Open vSwitch needs %d MiB for an MTU of %d: choose a smaller mtu",
			have>>20, least>>20, l.MTU)
	}
	return nil
}
