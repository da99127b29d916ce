package link

import (
	"context"
	"errors"
	"fmt"

	"nines.dev/nines/plan"
)

// makeOVSDPDK joins endpoints by Open vSwitch with DPDK: a DPDK endpoint attaches by a vhost-user
// socket on which the node's virtio-user device listens, so that either side can be restarted; a
// kernel endpoint by a veth pair, whose far end is an AF_XDP or AF_PACKET port.
func makeOVSDPDK(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	if err := checkOVSMemory(l); err != nil {
		return err
	}
	return s.startOVS(ctx, l, endpoints, ovsConfig{Datapath: ovsUserDatapath, DPDK: l.Switch.DPDK, MTU: l.MTU})
}

// checkOVSMemory refuses too little memory for a port's buffers. ovs-vswitchd itself would report
// it only in its log, and only after a guest has connected.
func checkOVSMemory(l plan.Link) error {
	if l.Switch == nil || l.Switch.DPDK == nil {
		return errors.New("the plan assigns it no memory for DPDK")
	}
	if have, least := l.Switch.DPDK.MemoryBytes, ovsLeastMemory(l.MTU); have < least {
		return fmt.Errorf("has %d MiB for DPDK, and Open vSwitch needs %d MiB for an MTU of %d: choose a smaller mtu",
			have>>20, least>>20, l.MTU)
	}
	return nil
}
