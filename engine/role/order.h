/*
 * order: the order in which a thread looks at the ports of a duet's sides. It is drawn again for each
 * turn: a fixed one would have the packets of one side wait for those of the other, and not the reverse.
 */
#ifndef NINES_ORDER_H
#define NINES_ORDER_H

#include <stdint.h>

enum { ORDER_MAX = 4 };

struct order {
	uint64_t random;
	unsigned count; /* at most ORDER_MAX; 0 or 1: nothing is drawn */
	uint8_t places[ORDER_MAX];
};

static inline struct order order_of(unsigned count, uint64_t seed)
{
	return (struct order){.random = seed | 1, .count = count, .places = {0, 1, 2, 3}};
}

/* Draws the next order (Fisher and Yates), by a xorshift generator (Marsaglia, "Xorshift RNGs"). */
static inline void order_draw(struct order *o)
{
	o->random ^= o->random << 13;
	o->random ^= o->random >> 7;
	o->random ^= o->random << 17;
	uint64_t bits = o->random;
	for (unsigned last = o->count; last-- > 1; bits >>= 16) {
		unsigned chosen = (unsigned)((bits & 0xffff) * (last + 1) >> 16);
		uint8_t moved = o->places[last];
		o->places[last] = o->places[chosen];
		o->places[chosen] = moved;
	}
}

#endif
