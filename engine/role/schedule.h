/*
 * schedule: the intended send time of each packet, fixed in advance, in nanoseconds since the start
 * of its phase. A late packet keeps its intended time.
 *
 * constant: packet k of burst b is due at floor(b * burst * 10^15 / rate_upps) ns, computed with an
 * exact remainder, so rounding never accumulates. poisson: the intervals between bursts are
 * exponential with the same mean, summed as integers of 2^-16 ns.
 *
 * The two sides of a duet share a schedule of twice the rate. Its bursts are pairs, of which each side
 * has one; which side is first is drawn for each pair, as a fixed order would delay one of them in the
 * same way each time. Each side runs through the whole schedule and takes its own bursts, so neither
 * needs the other.
 */
#ifndef NINES_SCHEDULE_H
#define NINES_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum schedule_pattern { SCHEDULE_CONSTANT, SCHEDULE_POISSON };
enum schedule_side { SCHEDULE_ALONE, SCHEDULE_SIDE_A, SCHEDULE_SIDE_B };

struct schedule_config {
	uint64_t rate_upps; /* packets per second, in millionths; 0: unlimited */
	enum schedule_pattern pattern;
	uint32_t burst; /* packets that share a time, at least 1 */
	uint64_t seed;
	enum schedule_side side; /* of a duet; then with a rate */
	uint64_t side_seed; /* the same for both */
};

struct schedule {
	struct schedule_config config;
	uint64_t due_ns; /* of the next packet */
	uint32_t left; /* packets left at due_ns */
	uint64_t step_ns, step_remainder, step_divisor, remainder;
	double mean_q16; /* mean interval between bursts, in 2^-16 ns */
	uint64_t due_q16;
	uint64_t random[4];
	bool drawn; /* something of it is random */
	/* Of a duet: the side's place in this pair, and where the shared schedule is in it. */
	uint64_t sides[4];
	uint32_t own, place;
};

void schedule_init(struct schedule *s, const struct schedule_config *config);

/* Moves to the next burst where something is drawn; only for schedule_advance. */
void schedule_draw(struct schedule *s);

/* Moves on by the mean interval between bursts. */
static inline void schedule_step(struct schedule *s)
{
	s->due_ns += s->step_ns; /* all zero at rate 0 */
	s->remainder += s->step_remainder;
	if (s->remainder >= s->step_divisor && s->step_divisor) {
		s->remainder -= s->step_divisor;
		s->due_ns++;
	}
}

/* Advances to the next packet. */
static inline void schedule_advance(struct schedule *s)
{
	if (--s->left > 0)
		return;
	s->left = s->config.burst;
	if (s->drawn)
		schedule_draw(s);
	else
		schedule_step(s);
}

/* Packets due before duration_ns: the mean where something is drawn, else exact; 0 for rate 0. */
uint64_t schedule_expected(const struct schedule_config *config, uint64_t duration_ns);

/* The same, exactly: runs through it if something is drawn. */
uint64_t schedule_count(const struct schedule_config *config, uint64_t duration_ns);

#endif
