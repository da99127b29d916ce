/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The poller's statistics: a file that it maps and writes, and that other processes may
 * read at any time (busypoll/statistics.go has the same layout). There is one writer; each
 * number has 64 bits, is aligned, and is written atomically, so a reader sees the old or
 * the new one. All numbers but state only grow.
 */
#ifndef NINES_POLLER_STATISTICS_H
#define NINES_POLLER_STATISTICS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define STATISTICS_MAGIC   0x316c6c6f70656e69ull /* "inepoll1", little-endian */
#define STATISTICS_THREADS 64
#define STATISTICS_UNKNOWN UINT64_MAX

enum statistics_state {
	STATISTICS_STARTING = 0,
	STATISTICS_POLLING = 1,
	STATISTICS_SLEEPING = 2, /* adaptive, without packets */
	STATISTICS_BACKED_OFF = 3, /* the watchdog stopped it for a while */
	STATISTICS_ENDED = 4,
	STATISTICS_STALE = 5, /* its instances were replaced */
};

/* One polling thread. */
struct statistics_thread {
	uint64_t tid;
	uint64_t cpu;
	uint64_t state;
	uint64_t
		slices; /* polls of all devices, or calls that polled; UNKNOWN in the kernel's own thread */
	uint64_t
		packets; /* packets that its polls received; UNKNOWN if the kernel does not report them */
	uint64_t cpu_ns; /* CPU time */
	uint64_t waited_ns; /* runnable, but others had the CPU: schedstat's run delay */
	uint64_t slept_ns; /* asleep because nothing came */
	uint64_t preemptions; /* involuntary context switches */
	uint64_t back_offs;
	uint64_t backed_off_ns;
	uint64_t naps; /* how often it slept because no packets came */
};

struct statistics {
	uint64_t magic;
	uint64_t size; /* of the whole */
	uint64_t pid;
	uint64_t threads;
	uint64_t started_ns; /* CLOCK_MONOTONIC */
	uint64_t updated_ns;
	char mechanism[16];
	uint64_t reserved[8];
	struct statistics_thread thread[STATISTICS_THREADS];
};

static_assert(sizeof(struct statistics_thread) == 96, "the layout is a file's");
static_assert(sizeof(struct statistics) == 128 + 64 * 96, "the layout is a file's");

/* statistics__open creates and maps the file, or anonymous memory if path is NULL. Returns
 * NULL with errno set. */
struct statistics *statistics__open(const char *path, const char *mechanism);

/* statistics__update reads the threads' times from the kernel, and records the current time. */
void statistics__update(struct statistics *statistics);

uint64_t statistics__now(void);

#endif
