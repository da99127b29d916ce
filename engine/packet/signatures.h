/*
 * signatures: counts packets by the way they came; see signature.h. One thread owns a table.
 */
#ifndef NINES_SIGNATURES_H
#define NINES_SIGNATURES_H

#include "packet/frame.h"
#include "packet/signature.h"
#include "port/port.h"

/* The signature of a frame that frame_check has found good. */
static inline struct signature signature_of(const uint8_t *data,
					    const struct signature_flows *flows)
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
	if (__builtin_expect(flows->count > 1, 0))
		signature_join_flows(&s, flows);
	return s;
}

/* Counts packets of a signature; most have that of the packet before them. */
void signatures_add(struct signatures *t, const struct signature *s, uint64_t packets);

static inline void signatures_count(struct signatures *t, const struct signature *s)
{
	struct signature_row *last = &t->rows[t->last];
	if (__builtin_expect(t->count > 0 && signature_equal(&last->signature, s), 1))
		last->packets++;
	else
		signatures_add(t, s, 1);
}

/* Adds another table, in which a signature may have several rows. */
void signatures_merge(struct signatures *t, const struct signatures *from);

/* How the flows that a port receives differ. */
struct signature_flows signature_flows_of(const struct port_config *c);

#endif
