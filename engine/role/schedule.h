/*
 * schedule: the intended send time of each packet, fixed in advance, in nanoseconds since the start
 * of its phase. A late packet keeps its intended time.
 *
 * constant: packet k of burst b is due at floor(b * burst * 10^15 / rate_upps) ns, computed with an
 * exact remainder, so rounding never accumulates. poisson: the intervals between bursts are
 * exponential with the same mean, summed as integers of 2^-16 ns.
 */
#ifndef NINES_SCHEDULE_H
#define NINES_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum schedule_pattern { SCHEDULE_CONSTANT, SCHEDULE_POISSON };

struct schedule_config {
	uint64_t rate_upps; /* packets per second, in millionths; 0: unlimited */
	enum schedule_pattern pattern;
	uint32_t burst; /* packets that share a time, at least 1 */
	uint64_t seed;
};

struct schedule {
	struct schedule_config config;
	uint64_t due_ns; /* of the next packet */
	uint32_t left; /* packets left at due_ns */
	uint64_t step_ns, step_remainder, remainder;
	double mean_q16; /* mean interval between bursts, in 2^-16 ns */
	uint64_t due_q16;
	uint64_t random[4];
};

void schedule_init(struct schedule *s, const struct schedule_config *config);

/* Draws the next burst's random time; only for schedule_advance. */
void schedule_advance_poisson(struct schedule *s);

/* Advances to the next packet. */
static inline void schedule_advance(struct schedule *s)
{
	if (--s->left > 0)
		return;
	s->left = s->config.burst;
	if (s->config.pattern == SCHEDULE_POISSON) {
		schedule_advance_poisson(s);
		return;
	}
	s->due_ns += s->step_ns; /* all zero at rate 0 */
	s->remainder += s->step_remainder;
	if (s->remainder >= s->config.rate_upps && s->config.rate_upps) {
		s->remainder -= s->config.rate_upps;
		s->due_ns++;
	}
}

/* Packets due before duration_ns: exact for constant, the mean for poisson, 0
 * for rate 0. */
uint64_t schedule_expected(const struct schedule_config *config, uint64_t duration_ns);

#endif
