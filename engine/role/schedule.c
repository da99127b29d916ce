/* Intended send times; see schedule.h. */
#include "role/schedule.h"

#include <math.h>

/* 10^9 ns a second times 10^6 for the rate in millionths. */
#define UPPS_NS UINT64_C(1000000000000000)

/* splitmix64 and xoshiro256** by Blackman and Vigna (public domain),
 * https://prng.di.unimi.it/ */
static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

static uint64_t next_random(uint64_t s[4])
{
	uint64_t result = rotate(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

static void seed_random(uint64_t random[4], uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		random[i] = splitmix64(&seed);
}

/* Draws the side's place in the next pair. */
static void draw_place(struct schedule *s)
{
	bool b = s->config.side == SCHEDULE_SIDE_B;
	s->own = (uint32_t)(next_random(s->sides) >> 63) ^ b;
	s->place = 0;
}

static void next_burst(struct schedule *s)
{
	if (s->config.pattern != SCHEDULE_POISSON || s->config.rate_upps == 0) {
		schedule_step(s);
		return;
	}
	/* In (0, 1], so that the logarithm is finite. */
	double u = ((double)(next_random(s->random) >> 11) + 1) * 0x1p-53;
	s->due_q16 += (uint64_t)(-log(u) * s->mean_q16 + 0.5);
	s->due_ns = s->due_q16 >> 16;
}

void schedule_init(struct schedule *s, const struct schedule_config *config)
{
	bool duet = config->side != SCHEDULE_ALONE;
	uint64_t rate_upps = config->rate_upps * (duet ? 2 : 1);
	*s = (struct schedule){
		.config = *config,
		.left = config->burst,
		.drawn = duet || config->pattern == SCHEDULE_POISSON,
	};
	seed_random(s->random, config->seed);
	seed_random(s->sides, config->side_seed);
	if (rate_upps == 0)
		return;
	unsigned __int128 whole = (unsigned __int128)UPPS_NS * config->burst;
	s->step_ns = (uint64_t)(whole / rate_upps);
	s->step_remainder = (uint64_t)(whole % rate_upps);
	s->step_divisor = rate_upps;
	s->mean_q16 = (double)UPPS_NS * config->burst / (double)rate_upps * 65536.0;
	if (!duet)
		return;
	draw_place(s);
	for (; s->place < s->own; s->place++)
		next_burst(s);
}

void schedule_draw(struct schedule *s)
{
	next_burst(s);
	if (s->config.side == SCHEDULE_ALONE)
		return;
	/* To the end of this pair, and to the side's place in the next. */
	if (s->place == 0)
		next_burst(s);
	draw_place(s);
	for (; s->place < s->own; s->place++)
		next_burst(s);
}

uint64_t schedule_expected(const struct schedule_config *config, uint64_t duration_ns)
{
	if (config->rate_upps == 0)
		return 0;
	/* The smallest number of bursts b with floor(b * burst * 10^15 / rate) >=
	 * duration, times the burst. */
	unsigned __int128 step = (unsigned __int128)UPPS_NS * config->burst;
	unsigned __int128 whole = (unsigned __int128)duration_ns * config->rate_upps;
	return (uint64_t)((whole + step - 1) / step) * config->burst;
}

uint64_t schedule_count(const struct schedule_config *config, uint64_t duration_ns)
{
	struct schedule rest;
	uint64_t n = 0;
	schedule_init(&rest, config);
	if (config->rate_upps == 0 || !rest.drawn)
		return schedule_expected(config, duration_ns);
	for (; rest.due_ns < duration_ns; schedule_advance(&rest))
		n++;
	return n;
}
