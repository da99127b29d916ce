/*
 * sample: a reservoir of packets picked at random, each with the same chance, from a stream of
 * unknown length. The next packet to pick is known in advance (Li, "Reservoir- Sampling Algorithms
 * of Time Complexity O(n(1 + log(N/n)))", 1994, algorithm L), so that the fast path is one compare.
 */
#ifndef NINES_SAMPLE_H
#define NINES_SAMPLE_H

#include "stats/worst.h"

#include <stdint.h>

struct sample {
	struct outlier *kept;
	uint32_t capacity, size;
	uint64_t next; /* packets before the one to pick; UINT64_MAX: never */
	uint64_t random;
	double weight;
};

/* capacity 0 picks none. -ENOMEM. */
int sample_init(struct sample *s, uint32_t capacity, uint64_t seed);
void sample_free(struct sample *s);

/* Keeps a packet for which sample_wants is true; returns its place. */
uint32_t sample_keep(struct sample *s, const struct outlier *o);

static inline int sample_wants(const struct sample *s, uint64_t before)
{
	return before == s->next;
}

#endif
