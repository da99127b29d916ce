/*
 * segment: sending a burst as one large UDP packet, which the kernel cuts into the
 * burst's packets (generic segmentation offload). The way through the stack, most
 * of a packet's cost, is then walked once a burst. What leaves the interface are
 * the same frames as without.
 *
 * Only where that is so: the kernel, not the device, must do the cutting. A veth
 * whose tx-udp-segmentation is on hands the large packet on as it is, and the
 * network under test would see one packet where it should see 64. And nothing of
 * traffic control may lie before the cutting, because it would lose, delay or
 * count bursts instead of packets.
 *
 * Packets of a burst can only be cut from one if they share flow and length, and
 * the order of packets is never changed: ports with several flows, which take
 * turns packet by packet, do not segment.
 */
#ifndef NINES_SEGMENT_H
#define NINES_SEGMENT_H

#include "port/port.h"

#include <linux/virtio_net.h>

enum {
	SEGMENT_PACKETS_MAX = 64, /* UDP_MAX_SEGMENTS before Linux 6.10 */
	/* Payloads in all: an IPv4 packet without its headers. */
	SEGMENT_BYTES_MAX = 65535 - 20 - 8,
};

struct segment {
	bool on;
	bool refused; /* by the kernel, when it was tried: for good */
};

/* Looks whether the port may segment; where it may not though it is a batch's, a
 * note says why. Before each trial, because interfaces change. */
void segment_look(struct segment *s, struct port *port);

/* How many packets, from the first, one send can hold. `extra`: bytes of a packet
 * that are no payload. */
unsigned segment_run(const struct packet *burst, unsigned count, uint32_t extra);

/* After a failed send (errno): whether the kernel refuses to segment, which is then
 * noted, or could not get so much memory at once. The same packets may be sent one
 * by one then. */
bool segment_failed(struct segment *s, struct port *port);

/* A virtio header and frame headers that stand before the payloads of a burst, as
 * AF_PACKET takes them with PACKET_VNET_HDR (VIRTIO_NET_HDR_GSO_UDP_L4, Linux 6.2). */
struct segment_head {
	struct virtio_net_hdr virtio;
	uint8_t frame[42];
} __attribute__((packed));

/* Made from the burst's first frame. */
void segment_head(struct segment_head *head, const struct packet *first);

#endif
