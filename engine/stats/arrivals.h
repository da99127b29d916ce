/*
 * arrivals: when each measured packet arrived, and its latency, in 8 bytes: for those who need
 * [due, received] of all packets. No thread writes it to a disk; it is memory that another process
 * shares, from a file in memory (memfd_create, tmpfs), and can read while the trial runs.
 *
 * A row is a word. Its low half is the time since the row before, in units of 16 ticks, and two
 * marks; its high half is the latency in ns, or UINT32_MAX if that is longer. A longer time than
 * fits takes rows of its own, which are no packets: their time is ARRIVALS_CARRY. Rows of lost
 * packets grow from the other end, in pauses and when the trial has ended. docs/reference/engine-protocol.md has the layout; engine/client
 * reads it.
 *
 * What does not fit is left out as a whole: 1 in `one_in` packets has a row, chosen by its id, so
 * that it is the same for packets that arrive and for lost ones, and for both packets of a pair.
 * A multiple of the golden ratio spreads the chosen ids evenly in every regular subset of them,
 * such as the first ones of bursts (Knuth, The Art of Computer Programming, section 6.4).
 *
 * Owned by the measuring thread until the trial has ended.
 */
#ifndef NINES_ARRIVALS_H
#define NINES_ARRIVALS_H

#include "clock/clock.h"

#include <stdatomic.h>
#include <stddef.h>

#define ARRIVALS_MAGIC "NINESARR"

enum {
	ARRIVALS_VERSION = 1,
	ARRIVALS_TICKS_LOG2 = 4, /* 6 ns at 2.6 GHz */
	ARRIVALS_ROW_BYTES = 8,
	ARRIVALS_BYTES_MAX = 128 << 20,
	ARRIVALS_BURST = 64, /* packets at most */
};

/* The marks of a row, and its longest time: 6 s at 2.6 GHz. */
#define ARRIVALS_SIDE_B UINT32_C(0x80000000)
/* Nothing was under way when the packet was due: all earlier packets had arrived. */
#define ARRIVALS_ALONE UINT32_C(0x40000000)
#define ARRIVALS_CARRY UINT32_C(0x3fffffff)

#define ARRIVALS_GOLDEN UINT32_C(0x9e3779b1) /* 2^32 divided by the golden ratio */

enum arrivals_state { ARRIVALS_RUNNING = 1, ARRIVALS_PAUSED, ARRIVALS_ENDED };

struct arrivals_header {
	char magic[8]; /* written last */
	uint32_t version, one_in;
	/* The first row's time counts from base_ticks. A tick is ns_per_tick / 2^56 ns: as
	 * calibrated before the trial, and when it has ended by all of it. */
	uint64_t base_ticks, measured_ticks, ns_per_tick;
	uint64_t capacity; /* rows */
	uint64_t paused_ticks; /* in all pauses that have ended */
	/* Rows written so far; the state tells only that there will be no more. */
	_Alignas(64) _Atomic uint64_t written;
	_Atomic uint32_t state;
	uint32_t reserved2;
	/* Rows of lost packets, and packets without a row for lack of room (arrived, lost); missed, and
	 * saturated latencies, are set when the trial has ended. */
	uint64_t lost, missed, lost_missed, saturated;
	uint8_t reserved3[16];
};

_Static_assert(sizeof(struct arrivals_header) == 128, "read by engine/client");

struct arrivals {
	uint64_t *next, *end;
	uint64_t last; /* the last row's time, in units */
	uint64_t arrived_ticks; /* of the last burst */
	/* Of the burst that is taken: the time since the last row and since the last burst. */
	uint64_t units, idle_ns;
	uint32_t limit; /* of chosen packets' ids, times the ratio */
	uint64_t missed;
	uint64_t *rows;
	struct arrivals_header *header;
	size_t bytes;
	struct clock_scale scale;
};

/* 8 MiB. */
#define ARRIVALS_TWICE_MAX (UINT64_C(1) << 20)

struct arrivals_config {
	const char *file; /* as file_open; in memory */
	uint64_t expected; /* packets, at most; 0: unknown */
	uint64_t twice; /* of these, so many may be lost at a pause and arrive after it */
	uint64_t duration_ns; /* of the whole trial */
};

/* Makes the file large enough and maps it, faulted in; it may keep what it has beyond. -EMEDIUMTYPE
 * for a file on a disk, whose pages the kernel would write-protect again and again. */
int arrivals_open(struct arrivals **out, const struct arrivals_config *config);

/* Call before the first packet. No packet arrives before base_ticks. */
void arrivals_begin(struct arrivals *a, uint64_t base_ticks, uint64_t measured_ticks,
		    const struct clock_scale *scale);

/* Adds a lost packet, by when it was due, in ns since the measured packets began. The state that is told
 * next shows it to readers. */
void arrivals_lost(struct arrivals *a, uint32_t id, uint64_t due_ns, uint32_t mark);
/* Lost packets of which is not known when they were due. */
void arrivals_lost_untold(struct arrivals *a, uint64_t packets);
/* Forgets those that were added. */
void arrivals_found(struct arrivals *a);

/* Tells readers that the trial has ended, copies the final header, and unmaps the memory; the file
 * keeps it. */
void arrivals_close(struct arrivals *a, uint64_t ns_per_tick, struct arrivals_header *final);

/* Writes the rows of a long time; returns the rest of it. */
uint64_t arrivals_carry(struct arrivals *a, uint64_t units);

/* Keeps the rows of chosen packets only; returns their number. */
uint32_t arrivals_choose(struct arrivals *a, const uint32_t *ids, uint32_t count);

static inline bool arrivals_chosen(const struct arrivals *a, uint32_t id)
{
	return id * ARRIVALS_GOLDEN <= a->limit;
}

/* A packet's row, without what all packets of its burst share. */
static inline uint64_t arrivals_row(uint64_t latency_ns, uint32_t mark)
{
	return (latency_ns < UINT32_MAX ? latency_ns : UINT32_MAX) << 32 | mark;
}

/* Begins to take a burst that came now: returns the place of its rows, or NULL if there is no room. */
static inline uint64_t *arrivals_begin_burst(struct arrivals *a, uint64_t now)
{
	uint64_t units = (now >> ARRIVALS_TICKS_LOG2) - a->last;
	a->idle_ns = clock_ticks_to_ns(&a->scale, now - a->arrived_ticks);
	a->arrived_ticks = now;
	if (__builtin_expect(units >= ARRIVALS_CARRY, 0))
		units = arrivals_carry(a, units);
	a->units = units;
	return a->end - a->next < ARRIVALS_BURST ? NULL : a->next;
}

/* Ends a burst of `count` packets, whose rows are in their place, and shows them to readers. On x86 they
 * are visible before their number is. */
static inline void arrivals_end_burst(struct arrivals *a, const uint32_t *ids, uint32_t count)
{
	if (count == 0)
		return;
	uint64_t *rows = a->next;
	if (__builtin_expect(!rows || a->end - rows < ARRIVALS_BURST, 0)) {
		a->missed += count;
		return;
	}
	if (rows[0] >> 32 <= a->idle_ns)
		rows[0] |= ARRIVALS_ALONE;
	if (a->limit != UINT32_MAX) {
		count = arrivals_choose(a, ids, count);
		if (count == 0)
			return;
	}
	rows[0] |= a->units;
	a->last += a->units;
	a->next += count;
	atomic_store_explicit(&a->header->written, (uint64_t)(a->next - a->rows),
			      memory_order_release);
}

static inline void arrivals_tell(struct arrivals *a, enum arrivals_state state)
{
	atomic_store_explicit(&a->header->state, state, memory_order_release);
}

#endif
