/*
 * limit: limits packets per second, by a token bucket that holds 10 ms of packets, at least 64.
 * Belongs to one thread.
 */
#ifndef NINES_LIMIT_H
#define NINES_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct limit {
	double per_tick, full; /* per_tick 0: no limit */
	double tokens;
	uint64_t last_ticks;
};

static inline void limit_init(struct limit *l, double packets_per_second, double ticks_per_second)
{
	l->per_tick = packets_per_second / ticks_per_second;
	l->full = packets_per_second / 100 > 64 ? packets_per_second / 100 : 64;
	l->tokens = l->full;
	l->last_ticks = 0;
}

static inline bool limit_take(struct limit *l, uint64_t now)
{
	if (l->per_tick == 0)
		return true;
	if (l->last_ticks && now > l->last_ticks)
		l->tokens += (double)(now - l->last_ticks) * l->per_tick;
	if (l->tokens > l->full)
		l->tokens = l->full;
	l->last_ticks = now;
	if (l->tokens < 1)
		return false;
	l->tokens -= 1;
	return true;
}

#endif
