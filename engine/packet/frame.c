/* Templates, checks and rewrites; see frame.h. */
#include "packet/frame.h"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/in.h>

void frame_template_init(struct frame_template *t, const struct port_config *config)
{
	uint32_t length = config->frame_bytes - FRAME_FCS_BYTES;
	struct frame_header *h = &t->header;
	memset(t, 0, sizeof *t);
	memcpy(h->destination, config->peer_mac, 6);
	memcpy(h->source, config->local_mac, 6);
	h->ethertype = htons(ETHERTYPE_IP);
	h->version_ihl = 0x45;
	h->ip_length = htons((uint16_t)(length - FRAME_ETHERNET));
	h->ip_fragment = htons(0x4000); /* do not fragment */
	h->ttl = FRAME_TTL;
	h->protocol = IPPROTO_UDP;
	h->ip_source = config->local_ip;
	h->ip_destination = config->peer_ip;
	h->udp_source = htons(config->udp_port);
	h->udp_destination = htons(config->udp_port);
	h->udp_length = htons((uint16_t)(length - FRAME_ETHERNET - FRAME_IP));
	t->ip_sum = checksum_add(0, &h->version_ihl, FRAME_IP);
	h->ip_checksum = (uint16_t)~checksum_fold(t->ip_sum);
	t->udp_sum =
		(uint64_t)h->ip_source + h->ip_destination + htons(IPPROTO_UDP) + h->udp_length;
	t->udp_sum = checksum_add(t->udp_sum, &h->udp_source, FRAME_UDP);
	uint32_t payload_bytes = frame_payload_bytes(config->frame_bytes);
	if (payload_bytes >= TRAILER_LEAST_BYTES) {
		t->trailer_at = FRAME_PAYLOAD_AT + trailer_at(payload_bytes);
		t->trailer_shift = t->trailer_at % 2 * 8;
		t->udp_sum += (uint64_t)TRAILER_MARK << t->trailer_shift;
	}
	t->length = length;
	t->flows = config->flows;
	t->flow_field = config->flow_field;
}

uint64_t frame_write_flow(const struct frame_template *t, uint8_t *data, uint32_t flow)
{
	struct frame_header *h = (struct frame_header *)data;
	uint64_t udp_sum = t->udp_sum;
	if (t->flow_field == PORT_FLOW_SOURCE_PORT) {
		udp_sum += (uint16_t)~h->udp_source;
		h->udp_source = htons((uint16_t)(ntohs(h->udp_source) + flow));
		return udp_sum + h->udp_source;
	}
	uint32_t ip = htonl(ntohl(h->ip_source) + flow);
	uint64_t change = (uint64_t)(uint32_t)~h->ip_source + ip;
	h->ip_source = ip;
	h->ip_checksum = (uint16_t)~checksum_fold(t->ip_sum + change);
	return udp_sum + change;
}

void frame_complete_checksum(uint8_t *data, uint32_t length)
{
	struct frame_header h;
	memcpy(&h, data, sizeof h);
	if (h.udp_checksum != frame_partial_checksum(&h))
		return;
	uint32_t udp_length = ntohs(h.udp_length);
	if (udp_length < FRAME_UDP || FRAME_ETHERNET + FRAME_IP + udp_length > length)
		return;
	/* The field holds the pseudo header's sum, so it is included in the sum. */
	uint64_t sum = checksum_add(0, data + FRAME_ETHERNET + FRAME_IP, udp_length);
	h.udp_checksum = checksum_udp_field(sum);
	memcpy(data, &h, sizeof h);
}

void frame_set_destination(uint8_t *data, uint32_t ip)
{
	struct frame_header h;
	memcpy(&h, data, sizeof h);
	h.ip_checksum = checksum_update32(h.ip_checksum, h.ip_destination, ip);
	if (h.udp_checksum) {
		uint16_t c = checksum_update32(h.udp_checksum, h.ip_destination, ip);
		h.udp_checksum = c ? c : 0xffff;
	}
	h.ip_destination = ip;
	memcpy(data, &h, sizeof h);
}

void frame_swap(uint8_t *data)
{
	struct frame_header h;
	memcpy(&h, data, sizeof h);
	uint32_t ip = h.ip_source;
	h.ip_source = h.ip_destination;
	h.ip_destination = ip;
	uint8_t mac[6];
	memcpy(mac, h.source, 6);
	memcpy(h.source, h.destination, 6);
	memcpy(h.destination, mac, 6);
	memcpy(data, &h, sizeof h);
}
