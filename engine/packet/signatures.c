/* The engine's side of the table; see signature.h and signatures.h. */
#include "packet/signatures.h"

#include <string.h>

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
