/*
 * impair: treats the packets that one port receives as a bad link does: it loses, copies, damages,
 * delays and overtakes them, and gives the port a rate.
 *
 *   impair_put   draws a packet's fate and copies the packet, unless it is lost
 *   impair_take  lends the packets whose time has come, in the order of their times
 *   impair_free_taken  takes them back
 *
 * A packet's fate depends on the seed and on its number only: the same seed gives packet n the same
 * fate in every run, so the true loss and delay of a stream are known. Fates do not depend on one
 * another.
 *
 * What happens to a packet, in this order:
 *   lost        it is gone.
 *   corrupted   one bit after its Ethernet header is flipped.
 *   rate        it leaves when the packets before it have, and takes its own time.
 *   reordered   it skips rate and delay, and so overtakes packets that wait.
 *   delayed     by delay and a draw of the jitter.
 *   duplicated  a copy follows, with a delay of its own.
 *
 * Belongs to the thread that receives from the port. Nothing allocates after impair_new.
 */
#ifndef NINES_IMPAIR_H
#define NINES_IMPAIR_H

#include "port/port.h"
#include "stats/histogram.h"

#include <stdbool.h>
#include <stdint.h>

/* How the delay spreads around its mean; `jitter_ns` is what tc-netem(8) has it mean.
 * UNIFORM: from delay - jitter to delay + jitter.
 * NORMAL:  jitter is the standard deviation; cut at 4 of them, as netem's table is.
 * PARETO:  delay + jitter * 4/3 * (X - 3/2), X a Pareto variable of shape 3 and scale 1, cut at 4
 *          jitters, as netem's table is (netem/pareto.c in iproute2). */
enum impair_distribution { IMPAIR_UNIFORM, IMPAIR_NORMAL, IMPAIR_PARETO };

enum {
	IMPAIR_LIMIT = 10000, /* packets that wait, by default */
	IMPAIR_LIMIT_MAX = 1000000,
};
#define IMPAIR_DELAY_MAX_NS UINT64_C(60000000000)

struct impair_config {
	bool given; /* false: the port is not impaired */
	uint64_t delay_ns, jitter_ns;
	enum impair_distribution distribution;
	double loss, duplicate, reorder, corrupt; /* chances, 0 to 1 */
	uint64_t rate_bps; /* bits per second of frames with their FCS; 0: no limit */
	uint64_t seed;
	uint32_t limit; /* packets that wait at most; more are dropped */
};

/* What happens to a packet. */
struct impair_fate {
	bool lost, corrupted, reordered, duplicated;
	uint64_t delay_ns, copy_delay_ns; /* without the rate's part */
	uint64_t damage; /* random: which bit */
};

/* The fate of packet `number`, counted from 0. Pure. */
struct impair_fate impair_fate(const struct impair_config *config, uint64_t number);

/* Written by the owning thread; others may read. Every packet is lost, refused or held;
 * held + duplicated - given = waiting. */
struct impair_counts {
	uint64_t packets, lost, corrupted, reordered, duplicated;
	uint64_t refused; /* more than `limit` waited, or the packet was too long */
	uint64_t given; /* packets and copies that have left */
};

struct impair;

/* `frame_bytes` is the longest frame. NULL if out of memory. */
struct impair *impair_new(const struct impair_config *config, uint32_t frame_bytes);
void impair_free(struct impair *m);

const struct impair_config *impair_configured(const struct impair *m);
struct impair_counts impair_counted(const struct impair *m);
/* How much later than due packets were taken, in nanoseconds: the error of the delay. */
const struct histogram *impair_late(const struct impair *m);

enum impair_put { IMPAIR_HELD, IMPAIR_LOST, IMPAIR_REFUSED };

/* Takes over a copy of a packet that was received at `now`, in ticks. */
enum impair_put impair_put(struct impair *m, const struct packet *p, uint64_t now);

/* Lends packets that are due at `now`. They stay until impair_free_taken. */
unsigned impair_take(struct impair *m, uint64_t now, struct packet *burst, unsigned max);
void impair_free_taken(struct impair *m, const struct packet *burst, unsigned count);

#endif
