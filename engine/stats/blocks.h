/*
 * blocks: the latencies of a trial, counted apart for each of up to 100 equal blocks of its time.
 * One stall delays many neighbouring packets. The differences between the blocks show how many of
 * the packets are independent of each other.
 *
 * A packet is counted in `now`, the block that runs. The measuring thread looks once a burst
 * whether that has ended, so the blocks cost nothing per packet. All memory was faulted in before.
 */
#ifndef NINES_BLOCKS_H
#define NINES_BLOCKS_H

#include "stats/histogram.h"

enum { BLOCKS_MAX = 100 };

/* A shorter block has too few packets, and the log of a trial counts in milliseconds. */
#define BLOCK_LEAST_NS UINT64_C(1000000)

struct blocks {
	struct histogram *now;
	struct histogram *list;
	uint32_t count;
	uint64_t begin_ticks, length_ticks;
	uint64_t end_ticks; /* of the block that runs; the last one has none (UINT64_MAX) */
};

/* Allocates the blocks of a trial that measures this long. -ENOMEM. */
int blocks_init(struct blocks *b, uint64_t duration_ns);
void blocks_begin(struct blocks *b, uint64_t begin_ticks, uint64_t end_ticks);
/* Makes the block of this moment the one that runs. */
void blocks_turn(struct blocks *b, uint64_t ticks);
/* Moves what is to come, as so much time is not to count. */
void blocks_shift(struct blocks *b, uint64_t ticks);
/* Makes the block of this moment the last one. */
void blocks_cut(struct blocks *b, uint64_t ticks);
/* How many have begun by this moment. */
uint32_t blocks_begun(const struct blocks *b, uint64_t ticks);
/* Adds all of them up. */
void blocks_sum(const struct blocks *b, struct histogram *sum);
void blocks_free(struct blocks *b);

static inline void blocks_look(struct blocks *b, uint64_t ticks)
{
	if (__builtin_expect(ticks >= b->end_ticks, 0))
		blocks_turn(b, ticks);
}

#endif
