/* Templates, checks and rewrites; see frame.h. */
#include "packet/frame.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static void init_ip4(struct frame_template *t, const struct port_config *config)
{
	struct frame_header *h = &t->header;
	h->ethertype = htons(FRAME_TYPE_IP);
	h->version_ihl = 0x45;
	h->ip_length = htons((uint16_t)(t->length - FRAME_ETHERNET));
	h->ip_fragment = htons(0x4000); /* do not fragment */
	h->ttl = FRAME_TTL;
	h->protocol = FRAME_PROTOCOL_UDP;
	h->ip_source = address_ip4(&config->local_ip);
	h->ip_destination = address_ip4(&config->peer_ip);
	t->ip_sum = checksum_add(0, &h->version_ihl, FRAME_IP);
	h->ip_checksum = (uint16_t)~checksum_fold(t->ip_sum);
}

static void init_ip6(struct frame_template *t, const struct port_config *config)
{
	struct frame_header6 *h = &t->header6;
	h->ethertype = htons(FRAME_TYPE_IP6);
	h->version_class = 0x60;
	h->ip_length = htons((uint16_t)(t->length - FRAME_ETHERNET - FRAME_IP6));
	h->next_header = FRAME_PROTOCOL_UDP;
	h->hop_limit = FRAME_TTL;
	memcpy(h->ip_source, &config->local_ip, sizeof h->ip_source);
	memcpy(h->ip_destination, &config->peer_ip, sizeof h->ip_destination);
}

/* Without the checksum, which is 0 in the template. */
static uint64_t pseudo_sum(const struct frame_template *t, const struct frame_udp *udp)
{
	uint64_t sum = (uint64_t)udp->length + htons(FRAME_PROTOCOL_UDP);
	if (!t->ip6)
		return sum + t->header.ip_source + t->header.ip_destination;
	return checksum_add(sum, t->header6.ip_source, 2 * sizeof t->header6.ip_source);
}

void frame_template_init(struct frame_template *t, const struct port_config *config)
{
	memset(t, 0, sizeof *t);
	t->length = config->frame_bytes - FRAME_FCS_BYTES;
	t->ip6 = port_is_ip6(config);
	t->headers = frame_headers(t->ip6);
	memcpy(t->header.destination, config->peer_mac, 6);
	memcpy(t->header.source, config->local_mac, 6);
	if (t->ip6)
		init_ip6(t, config);
	else
		init_ip4(t, config);
	struct frame_udp *udp = t->ip6 ? &t->header6.udp : &t->header.udp;
	udp->source = htons(config->udp_port);
	udp->destination = htons(config->udp_port);
	udp->length = htons((uint16_t)(t->length - t->headers + FRAME_UDP));
	t->udp_sum = checksum_add(pseudo_sum(t, udp), udp, FRAME_UDP);
	uint32_t payload_bytes = frame_payload_bytes(config);
	if (payload_bytes >= TRAILER_LEAST_BYTES) {
		t->trailer_at = t->headers + trailer_at(payload_bytes);
		t->trailer_shift = t->trailer_at % 2 * 8;
		t->udp_sum += (uint64_t)TRAILER_MARK << t->trailer_shift;
	}
	t->flows = config->flows;
	t->flow_field = config->flow_field;
}

uint64_t frame_write_flow(const struct frame_template *t, uint8_t *data, uint32_t flow)
{
	struct frame_header *h = (struct frame_header *)data;
	struct frame_header6 *h6 = (struct frame_header6 *)data;
	uint64_t udp_sum = t->udp_sum;
	if (t->flow_field == PORT_FLOW_SOURCE_PORT) {
		struct frame_udp *udp = t->ip6 ? &h6->udp : &h->udp;
		udp_sum += (uint16_t)~udp->source;
		udp->source = htons((uint16_t)(ntohs(udp->source) + flow));
		return udp_sum + udp->source;
	}
	uint32_t before = t->ip6 ? h6->ip_source[3] : h->ip_source;
	uint32_t ip = htonl(ntohl(before) + flow);
	uint64_t change = (uint64_t)(uint32_t)~before + ip;
	if (t->ip6) {
		h6->ip_source[3] = ip;
	} else {
		h->ip_source = ip;
		h->ip_checksum = (uint16_t)~checksum_fold(t->ip_sum + change);
	}
	return udp_sum + change;
}

static uint64_t pseudo_sum6(const struct frame_header6 *h)
{
	uint64_t sum = (uint64_t)h->udp.length + htons(FRAME_PROTOCOL_UDP);
	return checksum_add(sum, h->ip_source, 2 * sizeof h->ip_source);
}

static bool is_udp4(const uint8_t *data, uint32_t length)
{
	const struct frame_header *h = (const struct frame_header *)data;
	return length >= FRAME_HEADERS && h->ethertype == htons(FRAME_TYPE_IP) &&
	       h->version_ihl == 0x45 && h->protocol == FRAME_PROTOCOL_UDP;
}

static bool is_udp6(const uint8_t *data, uint32_t length)
{
	const struct frame_header6 *h = (const struct frame_header6 *)data;
	return length >= FRAME_HEADERS6 && h->ethertype == htons(FRAME_TYPE_IP6) &&
	       h->version_class >> 4 == 6 && h->next_header == FRAME_PROTOCOL_UDP;
}

bool frame_is_udp_to(const uint8_t *data, uint32_t length, uint16_t udp_port)
{
	if (is_udp4(data, length))
		return ((const struct frame_header *)data)->udp.destination == htons(udp_port);
	return is_udp6(data, length) &&
	       ((const struct frame_header6 *)data)->udp.destination == htons(udp_port);
}

enum frame_verdict frame6_check(const uint8_t *data, uint32_t length, uint16_t udp_port,
				bool accepts_partial)
{
	const struct frame_header6 *h = (const struct frame_header6 *)data;
	if (!is_udp6(data, length) || h->udp.destination != htons(udp_port))
		return FRAME_FOREIGN;
	uint32_t udp_length = ntohs(h->udp.length);
	if (ntohs(h->ip_length) != udp_length || udp_length < FRAME_UDP ||
	    FRAME_ETHERNET + FRAME_IP6 + udp_length > length)
		return FRAME_DAMAGED;
	return frame_check_udp(pseudo_sum6(h), &h->udp, accepts_partial);
}

static uint16_t partial_checksum(const uint8_t *data)
{
	return frame_is_ip6(data) ? checksum_fold(pseudo_sum6((const struct frame_header6 *)data))
				  : frame_partial_checksum((const struct frame_header *)data);
}

static struct frame_udp *udp_of(uint8_t *data)
{
	return (struct frame_udp *)(data + frame_headers(frame_is_ip6(data)) - FRAME_UDP);
}

void frame_set_partial_checksum(uint8_t *data)
{
	udp_of(data)->checksum = partial_checksum(data);
}

void frame_complete_checksum(uint8_t *data, uint32_t length)
{
	if (!is_udp4(data, length) && !is_udp6(data, length))
		return;
	struct frame_udp *udp = udp_of(data);
	uint32_t udp_at = (uint32_t)((uint8_t *)udp - data), udp_length = ntohs(udp->length);
	if (udp->checksum != partial_checksum(data) || udp_length < FRAME_UDP ||
	    udp_at + udp_length > length)
		return;
	/* The field holds the pseudo header's sum, so it is included in the sum. */
	udp->checksum = checksum_udp_field(checksum_add(0, udp, udp_length));
}

static uint16_t udp_update32(uint16_t field, uint32_t before, uint32_t after)
{
	uint16_t c = field ? checksum_update32(field, before, after) : 0;
	return field && !c ? 0xffff : c;
}

void frame_set_destination(uint8_t *data, const struct in6_addr *to)
{
	if (frame_is_ip6(data) != address_is_ip6(to))
		return;
	if (frame_is_ip6(data)) {
		struct frame_header6 *h = (struct frame_header6 *)data;
		for (int i = 0; i < 4; i++) {
			uint32_t word = to->s6_addr32[i];
			h->udp.checksum = udp_update32(h->udp.checksum, h->ip_destination[i], word);
			h->ip_destination[i] = word;
		}
		return;
	}
	struct frame_header *h = (struct frame_header *)data;
	uint32_t ip = address_ip4(to);
	h->ip_checksum = checksum_update32(h->ip_checksum, h->ip_destination, ip);
	h->udp.checksum = udp_update32(h->udp.checksum, h->ip_destination, ip);
	h->ip_destination = ip;
}

static void swap(uint8_t *a, uint8_t *b, size_t bytes)
{
	uint8_t kept[sizeof(struct in6_addr)];
	memcpy(kept, a, bytes);
	memcpy(a, b, bytes);
	memcpy(b, kept, bytes);
}

void frame_swap(uint8_t *data)
{
	struct frame_header *h = (struct frame_header *)data;
	struct frame_header6 *h6 = (struct frame_header6 *)data;
	swap(h->source, h->destination, sizeof h->source);
	if (frame_is_ip6(data))
		swap((uint8_t *)h6->ip_source, (uint8_t *)h6->ip_destination, sizeof h6->ip_source);
	else
		swap((uint8_t *)&h->ip_source, (uint8_t *)&h->ip_destination, sizeof h->ip_source);
}
