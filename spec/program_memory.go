package spec

// VPPBuffers is how many buffers VPP gets on each NUMA node: its default
// (VLIB_BUFFER_DEFAULT_BUFFERS_PER_NUMA), or enough to fill a queue of 1024 in each direction of
// each port twice over.
func VPPBuffers(endpoints int) int {
	const usual, perPort = 16384, 4096
	return max(usual, perPort*endpoints)
}

// VPPDataBytes is the size of the data in a buffer of VPP: its default, or a whole longer frame in
// one buffer, in steps of a cache line.
func VPPDataBytes(mtu int) int {
	const usual, ethernet, line = 2048, 18, 64
	return max(usual, (mtu+ethernet+line-1)/line*line)
}

// vppMemory is what VPP's buffers take on one NUMA node. A buffer has a head of 256 bytes and is an
// odd number of cache lines (vlib_buffer_alloc_size in src/vlib/buffer.c); none crosses from one
// page to another.
func vppMemory(endpoints, mtu int, pageBytes int64) int64 {
	const head, line = 256, 64
	buffer := int64(VPPDataBytes(mtu)+head) | line
	perPage := pageBytes / buffer
	return (int64(VPPBuffers(endpoints)) + perPage - 1) / perPage * pageBytes
}

// snabbMemory is what Snabb's packets take. It allocates 1000, and as many as it has and 1000 more
// whenever it has no free one (preallocate_step in core/packet.lua); at most, the links between its
// apps are full, two for each port (LINK_MAX_PACKETS in core/link.h).
func snabbMemory(endpoints, _ int, pageBytes int64) int64 {
	const (
		step = 1000
		// A packet is 10 KiB and a length, with 512 bytes before it, aligned to as many.
		packet, link, spare = 22 * 512, 1023, 256
	)
	packets := int64(step)
	for packets < int64(2*link*endpoints)+spare {
		packets += packets + step
	}
	perPage := pageBytes / packet
	return (packets + perPage - 1) / perPage * pageBytes
}
