/*
 * frame: Ethernet/IP/UDP headers, of IPv4 or IPv6, built from a template per port and checked on
 * arrival. Frame lengths here are without the FCS, as in memory.
 */
#ifndef NINES_FRAME_H
#define NINES_FRAME_H

#include "packet/checksum.h"
#include "packet/payload.h"
#include "port/port.h"

enum {
	FRAME_FCS_BYTES = 4,
	FRAME_MIN_BYTES = 64, /* with FCS, IEEE 802.3; IPv4's headers and a stamp fit */
	FRAME_MIN_BYTES_IP6 = 84, /* with FCS: IPv6's headers and a stamp */
	FRAME_MAX_BYTES = 9018, /* with FCS: 9000 bytes of IP */
	FRAME_TTL = 64, /* RFC 1700's default */
	FRAME_ETHERNET = 14,
	FRAME_IP = 20,
	FRAME_IP6 = 40,
	FRAME_UDP = 8,
	FRAME_HEADERS = FRAME_ETHERNET + FRAME_IP + FRAME_UDP,
	FRAME_HEADERS6 = FRAME_ETHERNET + FRAME_IP6 + FRAME_UDP,
	FRAME_TYPE_IP = 0x0800,
	FRAME_TYPE_IP6 = 0x86dd,
	FRAME_PROTOCOL_UDP = 17,
};

struct frame_udp {
	uint16_t source, destination, length, checksum;
} __attribute__((packed));

struct frame_header {
	uint8_t destination[6], source[6];
	uint16_t ethertype;
	uint8_t version_ihl, tos;
	uint16_t ip_length, ip_id, ip_fragment;
	uint8_t ttl, protocol;
	uint16_t ip_checksum;
	uint32_t ip_source, ip_destination;
	struct frame_udp udp;
} __attribute__((packed));

/* RFC 8200, section 3. */
struct frame_header6 {
	uint8_t destination[6], source[6];
	uint16_t ethertype;
	uint8_t version_class, class_flow;
	uint16_t flow_label, ip_length; /* of what follows the IP header */
	uint8_t next_header, hop_limit;
	uint32_t ip_source[4], ip_destination[4];
	struct frame_udp udp;
} __attribute__((packed));

_Static_assert(sizeof(struct frame_header) == FRAME_HEADERS, "no options, no VLAN tag");
_Static_assert(sizeof(struct frame_header6) == FRAME_HEADERS6, "no extensions, no VLAN tag");

/* The frame of a port, except flow, payload and checksum. */
struct frame_template {
	union {
		struct frame_header header;
		struct frame_header6 header6;
	};
	bool ip6;
	uint32_t headers; /* bytes of them; the payload follows */
	uint32_t length; /* of the frame, without FCS */
	uint64_t
		udp_sum; /* of pseudo header, UDP header of flow 0 with checksum 0, and trailer mark */
	uint64_t ip_sum; /* of the IPv4 header of flow 0, checksum 0 */
	uint32_t trailer_at; /* offset of the second stamp; 0: none */
	/* To its sum: bytes at an odd offset count 2^8 times as much, or 2^-8, which is the same (RFC
	 * 1071, section 2 (B)). */
	uint32_t trailer_shift;
	uint32_t flows;
	enum port_flow_field flow_field;
};

void frame_template_init(struct frame_template *t, const struct port_config *config);

static inline bool frame_is_ip6(const uint8_t *data)
{
	uint16_t type;
	memcpy(&type, data + 12, 2);
	return type == __builtin_bswap16(FRAME_TYPE_IP6);
}

/* The bytes of the headers before the UDP payload. */
static inline uint32_t frame_headers(bool ip6)
{
	return ip6 ? FRAME_HEADERS6 : FRAME_HEADERS;
}

/* UDP payload bytes in a frame of the port. */
static inline uint32_t frame_payload_bytes(const struct port_config *c)
{
	return c->frame_bytes - FRAME_FCS_BYTES - frame_headers(port_is_ip6(c));
}

/* Sets the flow's source port or address in the headers at `data`; returns the changed UDP sum. */
uint64_t frame_write_flow(const struct frame_template *t, uint8_t *data, uint32_t flow);

/* Writes headers and both stamps of a frame whose other bytes are zero, so the checksum is the
 * template's sum plus that of the stamps and the flow's change. */
static inline void frame_write(const struct frame_template *t, uint8_t *data, uint32_t flow,
			       const struct payload *payload)
{
	struct payload_words words = payload_pack(payload);
	uint64_t udp_sum = t->udp_sum, sum = payload_sum(&words);
	if (__builtin_expect(t->ip6, 0))
		memcpy(data, &t->header6, sizeof t->header6);
	else
		memcpy(data, &t->header, sizeof t->header);
	if (__builtin_expect(flow != 0, 0))
		udp_sum = frame_write_flow(t, data, flow);
	udp_sum += sum;
	if (t->trailer_at) {
		trailer_store(data + t->trailer_at, &words);
		udp_sum += sum << t->trailer_shift;
	}
	uint16_t checksum = checksum_udp_field(udp_sum);
	uint8_t *stamp = data + t->headers;
	memcpy(stamp - sizeof checksum, &checksum,
	       sizeof checksum); /* the UDP header's last field */
	payload_store(stamp, &words);
}

enum frame_verdict {
	FRAME_GOOD,
	FRAME_FOREIGN, /* not UDP to the port */
	FRAME_DAMAGED, /* a length or a checksum is wrong */
};

/* The UDP checksum field as the kernel leaves it for a device to complete: the
 * folded pseudo header (CHECKSUM_PARTIAL, include/linux/skbuff.h). */
static inline uint16_t frame_partial_checksum(const struct frame_header *h)
{
	uint64_t sum = (uint64_t)h->ip_source + h->ip_destination + h->udp.length;
	sum += __builtin_bswap16(FRAME_PROTOCOL_UDP);
	return checksum_fold(sum);
}

enum frame_verdict frame6_check(const uint8_t *data, uint32_t length, uint16_t udp_port,
				bool accepts_partial);

/* Whether a whole UDP packet's sum, which the pseudo header's begins, is right. */
static inline enum frame_verdict frame_check_udp(uint64_t pseudo, const struct frame_udp *udp,
						 bool accepts_partial)
{
	/* 0 means "none" (RFC 768), but the engine and every kernel compute a checksum, so 0 means
	 * damage here. */
	if (udp->checksum == 0)
		return FRAME_DAMAGED;
	uint64_t sum = checksum_add(pseudo, udp, __builtin_bswap16(udp->length));
	if (checksum_fold(sum) == 0xffff)
		return FRAME_GOOD;
	if (accepts_partial && udp->checksum == checksum_fold(pseudo))
		return FRAME_GOOD;
	return FRAME_DAMAGED;
}

/* Checks a whole frame. */
static inline enum frame_verdict frame_check(const uint8_t *data, uint32_t length,
					     uint16_t udp_port, bool accepts_partial)
{
	const struct frame_header *h = (const struct frame_header *)data;
	if (length < FRAME_HEADERS || h->ethertype != __builtin_bswap16(FRAME_TYPE_IP) ||
	    h->version_ihl != 0x45 || h->protocol != FRAME_PROTOCOL_UDP ||
	    h->udp.destination != __builtin_bswap16(udp_port))
		return frame6_check(data, length, udp_port, accepts_partial);
	uint32_t udp_length = __builtin_bswap16(h->udp.length);
	if (__builtin_bswap16(h->ip_length) != udp_length + FRAME_IP || udp_length < FRAME_UDP ||
	    FRAME_ETHERNET + FRAME_IP + udp_length > length)
		return FRAME_DAMAGED;
	if (checksum_fold(checksum_add(0, data + FRAME_ETHERNET, FRAME_IP)) != 0xffff)
		return FRAME_DAMAGED;
	uint64_t pseudo = (uint64_t)h->ip_source + h->ip_destination + h->udp.length +
			  __builtin_bswap16(FRAME_PROTOCOL_UDP);
	return frame_check_udp(pseudo, &h->udp, accepts_partial);
}

/* Whether a frame is unfragmented UDP to a port. */
bool frame_is_udp_to(const uint8_t *data, uint32_t length, uint16_t udp_port);

/* Leaves the UDP checksum to the kernel or a device, partial as above. */
void frame_set_partial_checksum(uint8_t *data);

/* Completes a partial UDP checksum, because the receiver checks frames sent by raw, ring or xdp. A
 * frame that only looks partial gets the checksum that it had; any other than UDP stays. */
void frame_complete_checksum(uint8_t *data, uint32_t length);

/* Sets the destination address and keeps the checksums right (RFC 1624). A frame of the other IP
 * version stays. */
void frame_set_destination(uint8_t *data, const struct in6_addr *ip);

/* Swaps MAC and IP addresses, for reflect; the sums do not change. The UDP ports stay, too: a
 * flow's number is in the source port, and all send to udp_port. */
void frame_swap(uint8_t *data);

#endif
