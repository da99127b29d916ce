/*
 * waits: how long a thread waited for its CPU while that ran something else.
 *
 * The kernel counts as a thread's run delay (schedstat) the time from when it can run until it
 * runs. A thread that was asleep has some of that at each switch to it, also where nothing else
 * wants the CPU: 0.6 to 3.2 us on a virtual machine, by the runs and the run delay of trials that
 * block. At 10,000 wake-ups a second that adds up to more than any other work that matters. So the
 * thread looks at the two before it sleeps, and of each wait only what is beyond a switch counts:
 * what one switch takes less is not there for another wait to hide in.
 *
 * Belongs to one thread, which begins, looks and ends.
 */
#ifndef NINES_WAITS_H
#define NINES_WAITS_H

#include "clock/clock.h"
#include "role/thread.h"

enum {
	/* The most that a switch takes. */
	WAITS_SWITCH_NS = 5000,
	/* No look sooner after another: each takes about 1 us, so they take 2 % of a CPU at most.
	 * A thread that sleeps more often has several waits between two looks. */
	WAITS_EVERY_NS = 50000,
};

struct waits {
	int fd; /* of the thread's schedstat; -1: the kernel has none */
	uint64_t every_ticks, looked_ticks;
	struct thread_runs begin, last;
	uint64_t waited_ns;
};

void waits_begin(struct waits *w, const struct clock_scale *scale);
/* Adds what was since the last look. */
void waits_add(struct waits *w, struct thread_runs now);
void waits_read(struct waits *w);
/* Leaves out what was since the last look: the thread had nothing to do. */
void waits_skip(struct waits *w);
/* The last look; returns the runs since the begin. */
struct thread_runs waits_end(struct waits *w);

/* Before a sleep at `now`. */
static inline void waits_look(struct waits *w, uint64_t now)
{
	if (now - w->looked_ticks < w->every_ticks)
		return;
	w->looked_ticks = now;
	waits_read(w);
}

#endif
