/*
 * gaps: how long the host took the core away. The measuring loop marks each turn; a turn that takes
 * more than 8 times the shortest of its kind is a gap (the factor of jitter tools such as sysjitter
 * and oslat).
 *
 * Turns are compared with turns of the same kind: empty ones, and ones with 1, 2-3, 4-7 … packets,
 * because handling packets takes time that the host did not take away. To send takes longer than to
 * receive, as a packet passes the kernel within the sender's call. And the first turn after a sleep
 * takes longer than others, because the CPU's caches are cold: some are colder than others, so it is
 * compared with the mean of its kind.
 *
 * Many packets in a turn may be what waited while the CPU was away, so all turns of such a kind may be
 * gaps. A turn of several packets is therefore also compared with as many turns of one packet.
 *
 * Sleep is not a gap, and neither is waking later than the timer asked: leaving idle takes a CPU from
 * 1 µs to some 100 µs, by the depth of its sleep, though nothing else wants it. So wake-ups are
 * counted apart. Whether other work or a hypervisor had the CPU meanwhile is for the kernel to say
 * (run delay, steal).
 *
 * Owned by one measuring thread.
 */
#ifndef NINES_GAPS_H
#define NINES_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GAPS_KEPT = 64,
	GAPS_FACTOR = 8,
	/* The same for a turn of several packets against as many turns of one, which take longer, as
	 * one call handles several. */
	GAPS_FACTOR_EACH = 4,
	/* A turn is listed (interruptions.h) from this part of a gap's length on. */
	GAPS_LISTED_PART = 2,
	/* Turns longer than this times the shortest of their kind may hide a gap. */
	GAPS_FACTOR_LONG = 2,
	GAPS_SIZES = 9, /* empty, 1, 2-3, …, 128 or more packets */
	GAPS_AWAKE = 2 * GAPS_SIZES, /* each size without and with packets sent */
	GAPS_KINDS = 2 * GAPS_AWAKE, /* the same after a sleep */
	/* The first turns of a kind only find its shortest, or its mean. */
	GAPS_LEARN_TURNS = 200,
};

struct gap {
	uint64_t at_ticks, length_ticks;
};

/* How late timers woke the thread. */
struct wakes {
	uint64_t count, total_ticks, max_ticks;
};

struct interruptions;

struct gaps {
	uint64_t floor_ticks; /* nothing shorter is a gap */
	uint64_t last_ticks;
	uint64_t shortest[GAPS_KINDS], threshold[GAPS_KINDS];
	uint64_t longish[GAPS_KINDS]; /* what is longer may be a gap, or hide one */
	uint64_t spent_ticks[GAPS_KINDS]; /* in turns that are no gaps */
	uint64_t
		idle_then; /* of these, in empty turns, at the last gap; UINT64_MAX: it slept since */
	uint64_t learnt_ticks
		[GAPS_AWAKE]; /* the sum of the first turns of the kinds after a sleep */
	uint32_t turns[GAPS_KINDS]; /* saturates at GAPS_LEARN_TURNS */
	bool slept; /* before this turn */
	uint64_t count, total_ticks, max_ticks;
	struct gap worst[GAPS_KEPT]; /* a min-heap by length */
	uint32_t kept;
	struct wakes wakes;
	_Atomic(struct interruptions *) list; /* of all gaps (interruptions.h); NULL: none */
};

void gaps_init(struct gaps *g, uint64_t floor_ticks);
void gaps_learn(struct gaps *g, unsigned kind, unsigned packets, uint64_t ticks);
void gaps_long(struct gaps *g, unsigned kind, unsigned packets, uint64_t ticks);
void gaps_add(struct gaps *g, uint64_t at_ticks, uint64_t length_ticks);

/* The threshold of the most common kind, in ticks. */
uint64_t gaps_threshold(const struct gaps *g);
void gaps_sort(struct gaps *g);

/* The time of a turn that nothing interrupts, 0 before any; and from which one is an interruption at
 * the latest, UINT64_MAX before any. */
uint64_t gaps_usual(const struct gaps *g, unsigned kind);
uint64_t gaps_listed_from(const struct gaps *g, unsigned kind);

/* "turn 2-3 sent after sleep": 2 or 3 packets, of which it sent some. */
void gaps_kind(unsigned kind, char *text, size_t size);

/* Begins a period of running, after a sleep or at the start. */
static inline void gaps_begin(struct gaps *g, uint64_t now)
{
	g->last_ticks = now;
	g->slept = true;
	g->idle_then = UINT64_MAX;
}

/* Ends a turn that received or forwarded, and sent, this many packets. */
static inline void gaps_turn(struct gaps *g, uint64_t now, unsigned received, unsigned sent)
{
	unsigned packets = received + sent;
	unsigned size = packets ? 32u - (unsigned)__builtin_clz(packets) : 0;
	unsigned kind = (size < GAPS_SIZES ? size : GAPS_SIZES - 1) + (sent ? GAPS_SIZES : 0) +
			(g->slept ? GAPS_AWAKE : 0);
	uint64_t length = now - g->last_ticks;
	g->spent_ticks[kind] += length;
	if (__builtin_expect(length < g->shortest[kind] || g->turns[kind] < GAPS_LEARN_TURNS, 0))
		gaps_learn(g, kind, packets, length);
	else if (__builtin_expect(length > g->longish[kind], 0))
		gaps_long(g, kind, packets, length);
	g->last_ticks = now;
	g->slept = false;
}

/* Ends the loop within a turn, which counts only if it was interrupted: it is no whole one. */
static inline void gaps_leave(struct gaps *g, uint64_t now)
{
	if (now - g->last_ticks > g->threshold[g->slept ? GAPS_AWAKE : 0])
		gaps_turn(g, now, 0, 0);
}

/* The thread slept until a timer at `due` and was woken at `now`. */
static inline void gaps_woken(struct gaps *g, uint64_t due, uint64_t now)
{
	uint64_t late = now > due ? now - due : 0;
	g->wakes.count++;
	g->wakes.total_ticks += late;
	if (late > g->wakes.max_ticks)
		g->wakes.max_ticks = late;
}

#endif
