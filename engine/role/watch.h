/*
 * watch: the gap meter alone, on many CPUs at once: how long and how often the host takes a core
 * away from a thread that never sleeps.
 *
 *   one pinned thread a CPU: read the clock -> gaps_turn -> a gap goes into the histogram,
 *                            and a long one into the ring from which another process reads
 *
 * Each thread owns its struct watch_cpu until the watch is stopped.
 */
#ifndef NINES_WATCH_H
#define NINES_WATCH_H

#include "stats/gaps.h"
#include "stats/histogram.h"
#include "stats/notices.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { WATCH_CPUS_MAX = 1024 };

struct watch_config {
	const int *cpus;
	unsigned count;
	uint32_t notices; /* room for this many announcements on each CPU; 0: none */
	uint64_t notice_ns; /* the shortest gap to announce */
};

struct watch_cpu {
	int cpu, tid;
	char scheduling[32];
	const atomic_bool *stop;
	pthread_t thread;
	uint64_t begin_ticks, end_ticks;
	uint64_t run_delay_ns; /* runnable without a CPU, as the scheduler counts it */
	struct gaps gaps;
	struct histogram lengths; /* of the gaps, ns */
	struct notices *notices; /* NULL: none */
	uint64_t notice_ns;
};

struct watch {
	unsigned count;
	atomic_bool stop;
	struct watch_cpu *cpus;
};

/* Starts a thread on each CPU. -errno with a message; then no thread runs. */
int watch_start(struct watch **out, const struct watch_config *config, char *error, size_t size);

/* Ends the threads; their measurements stay. */
void watch_stop(struct watch *w);
void watch_free(struct watch *w);

#endif
