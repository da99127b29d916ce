/* The engine's side of the table; see signature.h and signatures.h. */
#include "packet/signatures.h"

#include <arpa/inet.h>
#include <string.h>

static void set_ip4(uint32_t out[4], uint32_t ip)
{
	struct in6_addr a = address_of_ip4(ip);
	memcpy(out, &a, sizeof a);
}

static void read_ip4(struct signature_fields *f, const struct frame_header *h)
{
	f->ttl = h->ttl;
	f->tos = h->tos;
	f->ip_length = h->ip_length;
	set_ip4(f->ip_source, h->ip_source);
	set_ip4(f->ip_destination, h->ip_destination);
	f->udp_source = h->udp.source;
	f->udp_destination = h->udp.destination;
}

static void read_ip6(struct signature_fields *f, const struct frame_header6 *h)
{
	f->ttl = h->hop_limit;
	f->tos = (uint8_t)(h->version_class << 4 | h->class_flow >> 4);
	f->ip_length = htons((uint16_t)(ntohs(h->ip_length) + FRAME_IP6));
	memcpy(f->ip_source, h->ip_source, sizeof f->ip_source);
	memcpy(f->ip_destination, h->ip_destination, sizeof f->ip_destination);
	f->udp_source = h->udp.source;
	f->udp_destination = h->udp.destination;
}

static struct signature signature_of(const uint8_t *data, const struct signature_flows *flows)
{
	struct signature s = {0};
	if (frame_is_ip6(data))
		read_ip6(&s.fields, (const struct frame_header6 *)data);
	else
		read_ip4(&s.fields, (const struct frame_header *)data);
	memcpy(s.fields.destination, data, 12);
	signature_join_flows(&s, flows);
	return s;
}

/* Of the header (struct frame_header): 0xff where it tells of the way. */
static const uint8_t tells[FRAME_HEADERS] = {
	[0 ... 11] = 0xff, /* MAC addresses */
	[12 ... 13] = 0xff, /* Ethernet type */
	[15 ... 17] = 0xff, /* TOS, length */
	[22] = 0xff, /* TTL */
	[26 ... 33] = 0xff, /* addresses */
	[34 ... 37] = 0xff, /* ports */
};

/* Of struct frame_header6. The flow label and the next header do not tell of it. */
static const uint8_t tells6[FRAME_HEADERS6] = {
	[0 ... 13] = 0xff, /* MAC addresses, Ethernet type */
	[14] = 0x0f, /* version; traffic class */
	[15] = 0xf0, /* traffic class; flow label */
	[18 ... 19] = 0xff, /* length */
	[21] = 0xff, /* hop limit */
	[22 ... 53] = 0xff, /* addresses */
	[54 ... 57] = 0xff, /* ports */
};

void ways_begin(struct ways *w, const struct port_config *c)
{
	memset(w, 0, sizeof *w);
	w->flows = signature_flows_of(c);
	for (int ip6 = 0; ip6 < 2; ip6++)
		for (unsigned i = 0; i < way_words(ip6); i++)
			memcpy(&w->mask[ip6].words[i], (ip6 ? tells6 : tells) + way_word_at(ip6, i),
			       sizeof w->mask[ip6].words[i]);
}

void ways_end(struct ways *w)
{
	if (w->run)
		w->table.rows[w->table.last].packets += w->run;
	w->run = 0;
}

void way_count(struct ways *w, const uint8_t *data)
{
	struct signature s = signature_of(data, &w->flows);
	uint64_t others = w->table.others;
	ways_end(w);
	signatures_add(&w->table, &s, 1);
	if (others != w->table.others)
		return; /* it has found no room, and so nothing is like it */
	bool ip6 = frame_is_ip6(data);
	for (unsigned i = 0; i < way_words(ip6); i++)
		w->last.words[i] = way_word(w, data, ip6, i);
}

void signatures_add(struct signatures *t, const struct signature *s, uint64_t packets)
{
	for (unsigned i = 0; i < t->count; i++) {
		if (!signature_equal(&t->rows[i].signature, s))
			continue;
		t->last = i;
		t->rows[i].packets += packets;
		return;
	}
	if (t->count == SIGNATURES_MAX) {
		t->others += packets;
		return;
	}
	t->last = t->count++;
	t->rows[t->last] = (struct signature_row){*s, packets};
}

void signatures_merge(struct signatures *t, const struct signatures *from)
{
	unsigned count = from->count < SIGNATURES_MAX ? from->count : SIGNATURES_MAX;
	for (unsigned i = 0; i < count; i++)
		if (from->rows[i].packets)
			signatures_add(t, &from->rows[i].signature, from->rows[i].packets);
	t->others += from->others;
}

struct signature_flows signature_flows_of(const struct port_config *c)
{
	struct signature_flows flows = {.count = c->flows};
	if (c->flows > 1 && c->flow_field == PORT_FLOW_SOURCE_PORT)
		flows.port = c->udp_port;
	if (c->flows > 1 && c->flow_field == PORT_FLOW_SOURCE_ADDRESS)
		flows.address = ntohl(address_given(&c->sender_ip) ? c->sender_ip.s6_addr32[3]
								   : c->peer_ip.s6_addr32[3]);
	return flows;
}
