package link

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
)

const (
	// packetBlockBytes and packetFrames size the rings of DPDK's AF_PACKET driver: a block holds a
	// whole number of frames, and is a whole number of pages (packet_mmap.rst).
	packetBlockBytes = 64 << 10
	packetFrames     = 1024
)

// AFPacketDevice is the --vdev argument for DPDK's AF_PACKET driver on a kernel device; index makes
// the name unique in its process.
func AFPacketDevice(index int, device string, mtu int) string {
	// Bypass the device's qdisc, as the engine's own packet sockets do.
	return fmt.Sprintf("net_af_packet%d,iface=%s,blocksz=%d,framesz=%d,framecnt=%d,qdisc_bypass=1",
		index, device, packetBlockBytes, plan.PacketSlotBytes(mtu), packetFrames)
}

// packetSockets returns nil if each of the fabric's devices has a packet socket: a program has
// opened it.
func (s *Site) packetSockets(devices []string) error {
	if len(devices) == 0 {
		return nil
	}
	ns, err := netns.OfProcess(s.Fabric.PID)
	if err != nil {
		return err
	}
	defer ns.Close()
	return ns.Do(func() error {
		// sk, RefCnt, Type, Proto, Iface, … (net/packet/af_packet.c, packet_seq_show).
		text, err := os.ReadFile("/proc/thread-self/net/packet")
		if err != nil {
			return err
		}
		var open []string
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) > 4 {
				open = append(open, fields[4])
			}
		}
		for _, name := range devices {
			device, err := net.InterfaceByName(name)
			if err != nil {
				return err
			}
			if !slices.Contains(open, strconv.Itoa(device.Index)) {
				return fmt.Errorf("no program has opened %s", name)
			}
		}
		return nil
	})
}
