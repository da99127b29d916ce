/*
 * interruptions: a list of all stretches in which a thread's loop was kept from going on, as its gap
 * meter tells them (gaps.h), and the time of turns that may hide shorter ones.
 *
 * Its memory is fixed and faulted in before the loop begins. What finds no room is counted.
 *
 * The measuring thread adds; another may read the first `count` entries at any time. Counts of a
 * running loop may be newer than one another.
 */
#ifndef NINES_INTERRUPTIONS_H
#define NINES_INTERRUPTIONS_H

#include "clock/clock.h"
#include "stats/gaps.h"

#include <stdatomic.h>

enum {
	/* Busy shared hosts interrupt a thread 1,200 to 12,000 times a second. */
	INTERRUPTIONS_PER_SECOND = 1 << 14,
	INTERRUPTIONS_MIN = 1 << 16,
	/* 16 MiB. */
	INTERRUPTIONS_MAX = 1 << 20,
	/* Binary digits of a length in ticks. */
	INTERRUPTIONS_DIGITS = 40,
};

struct interruption {
	uint64_t at_ticks;
	uint64_t length_ticks : 56, kind : 8;
};

/* Turns of a kind that were long, but no interruptions, and that do not make up for one; and how much
 * longer they took than usual: all, and those of less than 2^(i + 1) ticks and no less than 2^i. */
struct unlisted {
	uint64_t count, ticks;
	uint64_t of_digits[INTERRUPTIONS_DIGITS];
};

struct interruptions {
	struct clock_point begin; /* of the list */
	uint64_t spent_before[GAPS_KINDS]; /* the gap meter's then */
	struct unlisted unlisted[GAPS_KINDS];
	uint64_t overflow;
	uint32_t room;
	_Atomic uint32_t count;
	struct interruption list[];
};

/* How many to expect at most in a time. */
uint32_t interruptions_room(uint64_t ns);

/* -ENOMEM. The gap meter lists from now on; the caller frees the list when the loop no longer does. */
int interruptions_new(struct interruptions **out, uint32_t room);
void interruptions_free(struct interruptions *l);
void interruptions_begin(struct interruptions *l, struct gaps *g);

/* A turn that is not listed took this much longer than usual. */
void interruptions_leave_out(struct interruptions *l, unsigned kind, uint64_t ticks);

void interruptions_add(struct interruptions *l, unsigned kind, uint64_t at_ticks,
		       uint64_t length_ticks);

#endif
