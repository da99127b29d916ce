/* rate: counts packets per second of a trial. */
#ifndef NINES_RATE_H
#define NINES_RATE_H

#include <stdint.h>

struct rate_counter {
	uint64_t *counts; /* one per second */
	uint32_t second, last;
	uint64_t boundary_ticks, second_ticks;
};

static inline void rate_init(struct rate_counter *r, uint64_t *counts, uint32_t seconds,
			     uint64_t start_ticks, uint64_t second_ticks)
{
	*r = (struct rate_counter){counts, 0, seconds - 1, start_ticks + second_ticks,
				   second_ticks};
}

/* Moves the current second's end, as so much time is not to count. */
static inline void rate_shift(struct rate_counter *r, uint64_t ticks)
{
	r->boundary_ticks += ticks;
}

/* Times must not decrease, except by rounding at a second's end; earlier ones count in the current
 * second. */
static inline void rate_count(struct rate_counter *r, uint64_t ticks, uint64_t packets)
{
	while (ticks >= r->boundary_ticks && r->second < r->last) {
		r->second++;
		r->boundary_ticks += r->second_ticks;
	}
	r->counts[r->second] += packets;
}

#endif
