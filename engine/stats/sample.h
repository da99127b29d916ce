/*
 * sample: packets picked at random, each with the same chance, of a stream whose length
 * is not known: a reservoir. Which packet is next is known beforehand (Li, "Reservoir-
 * Sampling Algorithms of Time Complexity O(n(1 + log(N/n)))", 1994, algorithm L), so that
 * the fast path is one compare.
 */
#ifndef NINES_SAMPLE_H
#define NINES_SAMPLE_H

#include "stats/worst.h"

#include <stdint.h>

struct sample {
	struct outlier *kept;
	uint32_t capacity, size;
	uint64_t next; /* how many packets come before the one to be picked; never: UINT64_MAX */
	uint64_t random;
	double weight;
};

/* capacity 0 picks none. -ENOMEM. */
int sample_init(struct sample *s, uint32_t capacity, uint64_t seed);
void sample_free(struct sample *s);

/* Keeps the packet that sample_wants; the place that it got. */
uint32_t sample_keep(struct sample *s, const struct outlier *o);

static inline int sample_wants(const struct sample *s, uint64_t before)
{
	return before == s->next;
}

#endif
