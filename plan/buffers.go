package plan

import (
	"regexp"
	"strconv"
	"strings"
)

// What the engine's DPDK takes, as engine/dpdk/device.c makes its pools; a test of lab
// (TestTheLeastMemoryIsEnough) opens ports with that much memory and no more.
const (
	// engineBaseBytes is what the environment layer takes, portBaseBytes what a port takes
	// besides its buffers, most of it the caches of its two pools for 128 threads.
	engineBaseBytes = 1 << 20
	portBaseBytes   = 3 << 20
	// A port's buffers: those of the queue, one more queue for what is forwarded, and those
	// of the threads' caches.
	queueSlots    = 1024
	afXDPSlots    = 2048
	cachedBuffers = 512
	// bufferHeadBytes is an mbuf (128), its headroom (128), the head of a pool's object (64)
	// and what is received besides a frame (64).
	bufferHeadBytes = 128 + 128 + 64 + 64
	usualRoomBytes  = 2048
	// xdpHeadroomBytes is what the kernel keeps free before a frame (XDP_PACKET_HEADROOM).
	xdpHeadroomBytes = 256
	// maxAFXDPFrameBytes is the longest frame of net_af_xdp, with its FCS: what is before it
	// and the frame are at most a page (AF_XDP_FRAME_MAX).
	maxAFXDPFrameBytes = 3392
	// maxVethXDPMTU is the largest MTU with which the kernel attaches libxdp's program to the
	// other end of a veth pair: what a page of 4 KiB holds besides XDP's headroom, the
	// Ethernet header and struct skb_shared_info (veth_xdp_set in drivers/net/veth.c).
	maxVethXDPMTU = 4096 - 256 - 14 - 320
	// maxPacketMTU is the largest MTU with DPDK's AF_PACKET driver: its slot is half of
	// a block (64 KiB, packetBlockBytes of package link), and one as long as the block is
	// longer than any buffer (BUFFER_ROOM_MAX).
	maxPacketMTU = 1<<15 - packetOverhead
	// packetOverhead are the headers of TPACKET_V2, aligned, and the Ethernet header.
	packetOverhead = 128
)

// driver is the EAL's name of what drives a device; empty for a PCI function.
func (d *Device) driver() string {
	if d.Driver != "" || pciAddress(d.Arguments) != "" {
		return d.Driver
	}
	name, _, _ := strings.Cut(d.Arguments, ",")
	return strings.TrimRight(name, "0123456789")
}

// slotSize finds the size of af_packet's slots in what the user wrote.
var slotSize = regexp.MustCompile(`,framesz=([0-9]{1,6})(,|$)`)

// PacketSlotBytes is the size of the slots of DPDK's AF_PACKET driver that hold the frames
// of a device: whole parts of a block, so a power of two.
func PacketSlotBytes(mtu int) int {
	slot := 2048
	for slot < mtu+packetOverhead {
		slot *= 2
	}
	return slot
}

// portBytes is what an engine takes for a port with frames of a size, on a link with an
// MTU.
func (d *Device) portBytes(frameBytes, mtu int) int64 {
	room, rxSlots := max(frameBytes, usualRoomBytes), queueSlots
	rxRoom := room
	switch d.driver() {
	case driverAFXDP:
		rxSlots, rxRoom = afXDPSlots, room+xdpHeadroomBytes
	case driverAFPacket:
		slot := PacketSlotBytes(mtu)
		if d.Driver == "" {
			slot = 0
			if given := slotSize.FindStringSubmatch(d.Arguments); given != nil {
				slot, _ = strconv.Atoi(given[1])
			}
		}
		rxRoom = min(max(room, slot), 1<<16)
	}
	rx := int64(rxSlots+queueSlots+cachedBuffers) * int64(rxRoom+bufferHeadBytes)
	tx := int64(max(rxSlots, queueSlots)+cachedBuffers) * int64(room+bufferHeadBytes)
	return portBaseBytes + rx + tx
}

// leastMemory is the least that the engine of a node can do with, in whole hugepages of
// the usual size; 0 where it opens no device of DPDK's.
func leastMemory(interfaces []Interface, frameBytes int) int64 {
	var sum int64
	for _, i := range interfaces {
		if i.Device != nil {
			sum += i.Device.portBytes(frameBytes, i.MTU)
		}
	}
	if sum == 0 {
		return 0
	}
	return (sum + engineBaseBytes + usualPage - 1) / usualPage * usualPage
}

func (w *work) leastMemory(n *node) int64 {
	var interfaces []Interface
	for _, e := range n.endpoints {
		interfaces = append(interfaces, Interface{MTU: e.link.mtu, Device: e.device})
	}
	return leastMemory(interfaces, w.frameBytes())
}

// leastMemory is what the engine that takes most can do with; 0 where none uses DPDK.
func (p *Plan) leastMemory() int64 {
	frameBytes := 0
	if p.Traffic != nil {
		frameBytes = p.Traffic.Stream.FrameBytes
	}
	var most int64
	for _, n := range p.Nodes {
		most = max(most, leastMemory(n.Interfaces, frameBytes))
	}
	return most
}
