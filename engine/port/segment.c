/* Segmented bursts; see segment.h. */
#include "port/segment.h"

#include "packet/frame.h"
#include "port/offload.h"

#include <errno.h>
#include <string.h>

/* include/uapi/linux/virtio_net.h; 6.2 and newer than some libcs' headers. */
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

_Static_assert(sizeof(struct segment_head) == sizeof(struct virtio_net_hdr) + FRAME_HEADERS6,
	       "no gap between the headers");

/* The reason why the interface must not get a segmented burst; NULL if it may. */
static const char *obstacle(const char *interface, uint32_t frame_bytes)
{
	int active = offload_active(interface, "tx-udp-segmentation");
	if (active < 0)
		return "its tx-udp-segmentation cannot be read";
	if (active)
		return "its tx-udp-segmentation is on";
	/* AF_PACKET does not check the MTU of such bursts, and the device drops the segments. */
	if (offload_mtu(interface) < (int)(frame_bytes - FRAME_FCS_BYTES - FRAME_ETHERNET))
		return "its MTU is below the frames'";
	int queued = offload_queued(interface);
	if (queued < 0)
		return "its queueing disciplines cannot be read";
	return queued ? "it has a queueing discipline" : NULL;
}

void segment_look(struct segment *s, struct port *port)
{
	const struct port_config *c = &port->config;
	bool before = s->on;
	s->on = false;
	if (c->io != PORT_BATCH || c->flows > 1 || s->refused)
		return;
	const char *why = obstacle(c->interface, c->frame_bytes);
	s->on = !why;
	if (why && (before || port->mode[0] == '\0'))
		port_note(port, "%s: %s, so batches are not segmented", c->interface, why);
}

unsigned segment_run(const struct packet *burst, unsigned count, uint32_t extra)
{
	unsigned n = 1;
	uint32_t payload = burst[0].length - extra;
	if (payload == 0)
		return 1;
	if (count > SEGMENT_PACKETS_MAX)
		count = SEGMENT_PACKETS_MAX;
	if (count > SEGMENT_BYTES_MAX / payload)
		count = SEGMENT_BYTES_MAX / payload;
	while (n < count && burst[n].flow == burst[0].flow && burst[n].length == burst[0].length)
		n++;
	return n;
}

bool segment_failed(struct segment *s, struct port *port)
{
	switch (errno) {
	case ENOMEM:
	case ENOBUFS:
		return true;
	case EIO:
	case EINVAL:
	case EMSGSIZE:
	case ENOPROTOOPT:
	case EOPNOTSUPP:
		s->on = false;
		s->refused = true;
		port_note(port, "this kernel does not segment UDP on %s (%s): sendmmsg instead",
			  port->config.interface, strerror(errno));
		return true;
	default:
		return false;
	}
}

void segment_head(struct segment_head *head, const struct packet *first)
{
	bool ip6 = frame_is_ip6(first->data);
	uint32_t headers = frame_headers(ip6);
	memcpy(head->frame, first->data, headers);
	/* The kernel sets each segment's lengths, IP id and checksums; the UDP checksum
	 * starts from the pseudo header's (__udp_gso_segment in net/ipv4/udp_offload.c). */
	frame_set_partial_checksum(head->frame);
	head->virtio = (struct virtio_net_hdr){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = VIRTIO_NET_HDR_GSO_UDP_L4,
		.hdr_len = (uint16_t)headers,
		.gso_size = (uint16_t)(first->length - headers),
		.csum_start = (uint16_t)(headers - FRAME_UDP),
		.csum_offset = offsetof(struct frame_udp, checksum),
	};
}
