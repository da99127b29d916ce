/*
 * segment: sending a burst as one large UDP packet, which the kernel cuts into the burst's packets
 * (generic segmentation offload). The burst then passes the stack, most of a packet's cost, only
 * once. The interface sends the same frames as without segmentation.
 *
 * It is used only where that holds: the kernel, not the device, must cut. A veth whose
 * tx-udp-segmentation is on hands the large packet on as it is, and the network under test would
 * see one packet where it should see 64. And no traffic control may come before the cutting,
 * because it would drop, delay or count bursts instead of packets.
 *
 * All packets cut from one must share flow and length, and packets are never reordered. So ports
 * with several flows, which alternate packet by packet, do not segment.
 */
#ifndef NINES_SEGMENT_H
#define NINES_SEGMENT_H

#include "port/port.h"

#include <linux/virtio_net.h>

enum {
	SEGMENT_PACKETS_MAX = 64, /* UDP_MAX_SEGMENTS before Linux 6.10 */
	/* All payloads together: an IPv4 packet without its headers. */
	SEGMENT_BYTES_MAX = 65535 - 20 - 8,
};

struct segment {
	bool on;
	bool refused; /* the kernel refused it once: never try again */
};

/* Checks whether the port may segment; if a batch port may not, a note says why. Called before each
 * trial, because interfaces change. */
void segment_look(struct segment *s, struct port *port);

/* How many packets, counted from the first, one send can hold. `extra`: bytes per packet that are
 * not payload. */
unsigned segment_run(const struct packet *burst, unsigned count, uint32_t extra);

/* Called after a failed send, with its errno. True: the kernel refuses to segment, which is then
 * noted, or could not get so much memory at once. The caller may then send the packets one by
 * one. */
bool segment_failed(struct segment *s, struct port *port);

/* The virtio header and frame headers before the payloads of a burst, as AF_PACKET takes them with
 * PACKET_VNET_HDR (VIRTIO_NET_HDR_GSO_UDP_L4, Linux 6.2). */
struct segment_head {
	struct virtio_net_hdr virtio;
	uint8_t frame[62]; /* of IPv6; of IPv4 the first 42 */
} __attribute__((packed));

/* The bytes of a head. */
static inline size_t segment_head_bytes(const struct segment_head *head)
{
	return sizeof head->virtio + head->virtio.hdr_len;
}

/* Made from the burst's first frame. */
void segment_head(struct segment_head *head, const struct packet *first);

#endif
