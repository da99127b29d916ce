/* The engine's side of the table; see signature.h and signatures.h. */
#include "packet/signatures.h"

#include <string.h>

static struct signature signature_of(const uint8_t *data, const struct signature_flows *flows)
{
	const struct frame_header *h = (const struct frame_header *)data;
	struct signature s = {.fields = {
				      .ttl = h->ttl,
				      .tos = h->tos,
				      .ip_length = h->ip_length,
				      .ip_source = h->ip_source,
				      .ip_destination = h->ip_destination,
				      .udp_source = h->udp_source,
				      .udp_destination = h->udp_destination,
			      }};
	memcpy(s.fields.destination, data, 12);
	signature_join_flows(&s, flows);
	return s;
}

/* Of the header (struct frame_header): 1 where it tells of the way. */
static const uint8_t tells[FRAME_HEADERS] = {
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, /* MAC addresses */
	0, 0, 0, 1, 1, 1, /* Ethernet type, version; TOS, length */
	0, 0, 0, 0, 1, 0, 0, 0, /* identification, fragment; TTL; protocol, checksum */
	1, 1, 1, 1, 1, 1, 1, 1, /* addresses */
	1, 1, 1, 1, /* ports */
};

void ways_begin(struct ways *w, const struct port_config *c)
{
	memset(w, 0, sizeof *w);
	w->flows = signature_flows_of(c);
	for (unsigned i = 0; i < WAY_WORDS; i++) {
		uint8_t mask[16];
		for (unsigned j = 0; j < 16; j++)
			mask[j] = tells[way_word_at(i) + j] ? 0xff : 0;
		memcpy(&w->mask.words[i], mask, 16);
	}
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
	for (unsigned i = 0; i < WAY_WORDS; i++)
		w->last.words[i] = way_word(w, data, i);
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
		flows.address = __builtin_bswap32(c->sender_ip ? c->sender_ip : c->peer_ip);
	return flows;
}
