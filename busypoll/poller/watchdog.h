/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NINES_POLLER_WATCHDOG_H
#define NINES_POLLER_WATCHDOG_H

#include "statistics.h"

/* A kernel thread that a polling thread may keep from its CPU. */
struct watchdog_other {
	int tid;
	bool was_runnable;
	uint64_t ran;
};

/* The watchdog's state for one polling thread. */
struct watchdog {
	/* ksoftirqd of the CPU, if it can be seen, and the threads of watchdog__heed. */
	struct watchdog_other others[1 + STATISTICS_THREADS];
	int others_used;
	uint64_t cpu_ns;
	uint64_t waited_ns;
	int starved; /* ticks in a row */
	uint64_t last_ns;
	uint64_t pause_ns;
};

void watchdog__start(struct watchdog *watchdog, int cpu);

/* watchdog__heed adds a thread that must not starve either. */
void watchdog__heed(struct watchdog *watchdog, int tid);

/* watchdog__bites is called each tick. It returns how long the thread must back off; 0: it
 * may go on. thread is NULL for one whose own starvation does not matter. */
uint64_t watchdog__bites(struct watchdog *watchdog, const struct statistics_thread *thread,
			 uint64_t now, uint64_t tick_ns);

#endif
