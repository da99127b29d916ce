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

void schedule_init(struct schedule *s, const struct schedule_config *config)
{
	uint64_t seed = config->seed;
	*s = (struct schedule){.config = *config, .left = config->burst};
	for (int i = 0; i < 4; i++)
		s->random[i] = splitmix64(&seed);
	if (config->rate_upps == 0)
		return;
	unsigned __int128 step = (unsigned __int128)UPPS_NS * config->burst;
	s->step_ns = (uint64_t)(step / config->rate_upps);
	s->step_remainder = (uint64_t)(step % config->rate_upps);
	s->mean_q16 = (double)UPPS_NS * config->burst / (double)config->rate_upps * 65536.0;
}

void schedule_advance_poisson(struct schedule *s)
{
	if (s->config.rate_upps == 0)
		return;
	/* In (0, 1], so that the logarithm is finite. */
	double u = ((double)(next_random(s->random) >> 11) + 1) * 0x1p-53;
	s->due_q16 += (uint64_t)(-log(u) * s->mean_q16 + 0.5);
	s->due_ns = s->due_q16 >> 16;
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
