package plan

import (
	"regexp"
	"strconv"
	"strings"
)

// What the engine's DPDK takes, by the pools that engine/dpdk/device.c makes; a test of lab
// (TestTheLeastMemoryIsEnough) opens ports with exactly that much memory.
const (
	// engineBaseBytes is what the environment layer takes, portBaseBytes what a port takes besides
	// its buffers, mostly the caches of its two pools for 128 threads.
	engineBaseBytes = 1 << 20
	portBaseBytes   = 3 << 20
	// A port's buffers: one queue, another queue for forwarded packets, and the threads' caches.
	queueSlots    = 1024
	afXDPSlots    = 2048
	cachedBuffers = 512
	// bufferHeadBytes is an mbuf (128), its headroom (128), the header of a pool's object (64) and
	// what is received besides a frame (64).
	bufferHeadBytes = 128 + 128 + 64 + 64
	usualRoomBytes  = 2048
	// xdpHeadroomBytes is what the kernel keeps free before a frame (XDP_PACKET_HEADROOM).
	xdpHeadroomBytes = 256
	// maxAFXDPFrameBytes is the longest frame of net_af_xdp, with its FCS: the frame and what
	// precedes it fill at most a page (AF_XDP_FRAME_MAX).
	maxAFXDPFrameBytes = 3392
	// maxVethXDPMTU is the largest MTU with which the kernel attaches libxdp's program to the other
	// end of a veth pair: a page of 4 KiB less XDP's headroom, the Ethernet header and struct
	// skb_shared_info (veth_xdp_set in drivers/net/veth.c).
	maxVethXDPMTU = 4096 - 256 - 14 - 320
	// maxPacketMTU is the largest MTU with DPDK's AF_PACKET driver: its slot is half of a block (64
	// KiB, packetBlockBytes of package link), and a slot as long as the block is longer than any
	// buffer (BUFFER_ROOM_MAX).
	maxPacketMTU = 1<<15 - packetOverhead
	// packetOverhead are the headers of TPACKET_V2, aligned, and the Ethernet header.
	packetOverhead = 128
)

// driver is the EAL's name of a device's driver; empty for a PCI function.
func (d *Device) driver() string {
	if d.Driver != "" || pciAddress(d.Arguments) != "" {
		return d.Driver
	}
	name, _, _ := strings.Cut(d.Arguments, ",")
	return strings.TrimRight(name, "0123456789")
}

// slotSize finds the size of af_packet's slots in what the user wrote.
var slotSize = regexp.MustCompile(`,framesz=([0-9]{1,6})(,|$)`)

// PacketSlotBytes is the slot size of DPDK's AF_PACKET driver for a device's frames: it divides a
// block, so it is a power of two.
func PacketSlotBytes(mtu int) int {
	slot := 2048
	for slot < mtu+packetOverhead {
		slot *= 2
	}
	return slot
}

// portBytes is the memory that an engine takes for a port, by frame size and the link's MTU.
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

// leastMemory is the least memory that the engine of a node needs, in whole hugepages of the usual
// size; 0 where DPDK opens no device.
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

// leastMemory is the least memory that suffices for the largest engine; 0 where none uses DPDK.
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
