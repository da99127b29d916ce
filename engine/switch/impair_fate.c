/* The fate of a packet; see impair.h. */
#include "switch/impair.h"

#include <math.h>

enum {
	NETEM_CUT = 4, /* netem's tables end at 4 jitters (32767 / NETEM_DIST_SCALE) */
};

/* The draws of a packet. */
enum draw {
	DRAW_LOSS,
	DRAW_DUPLICATE,
	DRAW_REORDER,
	DRAW_CORRUPT,
	DRAW_DAMAGE,
	DRAW_DELAY,
	DRAW_COPY_DELAY = DRAW_DELAY + 2, /* a delay takes up to two */
	DRAWS = DRAW_COPY_DELAY + 2,
};

/* splitmix64's output function, by Steele, Lea and Flood; see schedule.c. */
static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* The draw at one place of splitmix64's sequence, so that no draw depends on how many were made
 * before. The seed is mixed first: near seeds would else share most of their sequence. */
static uint64_t draw(const struct impair_config *c, uint64_t number, unsigned which)
{
	uint64_t at = number * DRAWS + which + 1;
	return mix(mix(c->seed) + at * UINT64_C(0x9e3779b97f4a7c15));
}

/* Above 0, at most 1. */
static double unit(uint64_t random)
{
	return (double)((random >> 11) + 1) * 0x1p-53;
}

static bool happens(const struct impair_config *c, uint64_t number, unsigned which, double chance)
{
	return chance > 0 && unit(draw(c, number, which)) <= chance;
}

/* How far from its mean a delay is, in jitters. */
static double deviation(const struct impair_config *c, uint64_t number, unsigned which)
{
	double u = unit(draw(c, number, which)), d = 0;
	switch (c->distribution) {
	case IMPAIR_UNIFORM:
		return 2 * u - 1;
	case IMPAIR_NORMAL: /* Box and Muller's */
		d = sqrt(-2 * log(u)) * cos(2 * M_PI * unit(draw(c, number, which + 1)));
		break;
	case IMPAIR_PARETO:
		d = 4.0 / 3 * (pow(u, -1.0 / 3) - 1.5);
		break;
	}
	return fmin(fmax(d, -NETEM_CUT), NETEM_CUT);
}

static uint64_t delay(const struct impair_config *c, uint64_t number, unsigned which)
{
	if (c->jitter_ns == 0)
		return c->delay_ns;
	double ns = (double)c->delay_ns + (double)c->jitter_ns * deviation(c, number, which);
	return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

struct impair_fate impair_fate(const struct impair_config *c, uint64_t number)
{
	struct impair_fate fate = {.lost = happens(c, number, DRAW_LOSS, c->loss)};
	if (fate.lost)
		return fate;
	fate.corrupted = happens(c, number, DRAW_CORRUPT, c->corrupt);
	if (fate.corrupted)
		fate.damage = draw(c, number, DRAW_DAMAGE);
	fate.reordered = happens(c, number, DRAW_REORDER, c->reorder);
	if (!fate.reordered)
		fate.delay_ns = delay(c, number, DRAW_DELAY);
	fate.duplicated = happens(c, number, DRAW_DUPLICATE, c->duplicate);
	if (fate.duplicated)
		fate.copy_delay_ns = delay(c, number, DRAW_COPY_DELAY);
	return fate;
}
