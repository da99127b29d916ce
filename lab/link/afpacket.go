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
	// packetBlockBytes and packetFrames size the rings of DPDK's AF_PACKET driver:
	// frames are whole parts of a block, which is whole pages (packet_mmap.rst).
	packetBlockBytes = 64 << 10
	packetFrames     = 1024
)

// AFPacketDevice is the argument of --vdev for DPDK's driver over a device of the
// kernel's; index makes its name unique in its process.
func AFPacketDevice(index int, device string, mtu int) string {
	// Past the traffic control of the device, as the engine's own packet sockets.
	return fmt.Sprintf("net_af_packet%d,iface=%s,blocksz=%d,framesz=%d,framecnt=%d,qdisc_bypass=1",
		index, device, packetBlockBytes, plan.PacketSlotBytes(mtu), packetFrames)
}

// packetSockets is nil if there is a packet socket on each of the fabric's devices:
// a program has opened them.
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
				return fmt.Errorf("nobody has opened %s", name)
			}
		}
		return nil
	})
}
