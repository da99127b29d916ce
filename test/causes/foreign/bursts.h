/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the foreign disturbers share: bursts at known times, and their log.
 *
 * They are called as PROGRAM TARGET PERIOD_US LENGTH_US, where the target is a CPU or a process.
 * They write a line to descriptor 3 when they are ready, then for each blow of a burst a line
 * of JSON to standard output, and end on SIGINT. Times are CLOCK_MONOTONIC in ns.
 *
 * They share nothing with nines-disturb, so that a mistake in what nines takes for granted
 * about disturbances is not made twice.
 */
#ifndef NINES_FOREIGN_BURSTS_H
#define NINES_FOREIGN_BURSTS_H

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { BLOWS_MOST = 100000 };

struct bursts {
	int target;
	uint64_t period_ns, length_ns;
	uint64_t (*log)[2];
	int count;
};

static volatile sig_atomic_t bursts_ended;

static inline void bursts_end(int signal)
{
	(void)signal;
	bursts_ended = 1;
}

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void sleep_until(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	while (!bursts_ended && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
		;
}

static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

/* pin_to allows the calling thread one CPU; pin_off all but that one. */
static inline void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set) < 0)
		die("run on the CPU to disturb");
}

static inline void pin_off(int cpu)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof set, &set) < 0)
		die("ask for the CPUs of this process");
	CPU_CLR((unsigned)cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set) < 0)
		die("run on another CPU than the one to disturb");
}

static inline struct bursts bursts_begin(int argc, char **argv)
{
	struct bursts b = {0};
	struct sigaction action = {.sa_handler = bursts_end};

	if (argc < 4) {
		fprintf(stderr, "usage: %s TARGET PERIOD_US LENGTH_US\n", argv[0]);
		exit(2);
	}
	b.target = atoi(argv[1]);
	b.period_ns = strtoull(argv[2], NULL, 10) * 1000;
	b.length_ns = strtoull(argv[3], NULL, 10) * 1000;
	b.log = calloc(BLOWS_MOST, sizeof *b.log);
	if (b.log == NULL)
		die("have memory for the log");
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	prctl(PR_SET_TIMERSLACK, 1ul);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that is killed leaves no disturber */
	return b;
}

static inline void bursts_note(struct bursts *b, uint64_t begin, uint64_t end)
{
	if (b->count < BLOWS_MOST) {
		b->log[b->count][0] = begin;
		b->log[b->count++][1] = end;
	}
}

/* bursts_run calls blow again and again for a length in each period, until the signal. What is
 * logged is written when a burst is over, so that it does not disturb. */
static inline int bursts_run(struct bursts *b, void (*blow)(struct bursts *))
{
	uint64_t next = now_ns();

	if (write(3, "ok\n", 3) != 3)
		die("tell descriptor 3 that it is ready");
	close(3);
	while (!bursts_ended) {
		uint64_t end = next + b->length_ns;

		while (!bursts_ended && now_ns() < end)
			blow(b);
		for (int i = 0; i < b->count; i++)
			printf("{\"begin_ns\":%llu,\"end_ns\":%llu,\"events\":1}\n",
			       (unsigned long long)b->log[i][0], (unsigned long long)b->log[i][1]);
		b->count = 0;
		fflush(stdout);
		for (next += b->period_ns; next < now_ns();)
			next += b->period_ns;
		sleep_until(next);
	}
	return 0;
}

#endif
