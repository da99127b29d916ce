// SPDX-License-Identifier: Apache-2.0
/*
 * Watches kernel threads that poll or receive: one with a real-time policy can starve the
 * softirqs of its CPU, and nothing else notices. The guard sets such a thread to SCHED_IDLE
 * for a while, so that ksoftirqd and all others run first, and then restores its policy. A
 * thread that may run on several CPUs is watched on each; it gets its policy back when its
 * pauses on all of them are over.
 */
#define _GNU_SOURCE
#include "poller.h"
#include "watchdog.h"

#include <stdio.h>

struct guarded {
	struct statistics_thread *statistics;
	struct watchdog watchdog;
	uint64_t back_at_ns; /* 0: it has its policy */
	uint64_t stopped_ns;
};

static struct guarded guarded[STATISTICS_THREADS];
static int guarded_used;

/* The end of the last of the thread's pauses on its CPUs. */
static uint64_t guard__back_at(uint64_t tid)
{
	uint64_t last = 0;

	for (int i = 0; i < guarded_used; i++)
		if (guarded[i].statistics->tid == tid && guarded[i].back_at_ns > last)
			last = guarded[i].back_at_ns;
	return last;
}

static void guard__give_back(struct guarded *one, const char *scheduling, uint64_t now)
{
	/* It may have ended, together with what it polled. */
	(void)scheduling__set((pid_t)one->statistics->tid, scheduling);
	one->statistics->backed_off_ns += now - one->stopped_ns;
	one->statistics->state = STATISTICS_POLLING;
	one->back_at_ns = 0;
}

static void guard__look(struct guarded *one, const char *scheduling, uint64_t now)
{
	uint64_t pause;

	if (one->statistics->state == STATISTICS_ENDED)
		return;
	if (one->back_at_ns != 0) {
		if (now >= guard__back_at(one->statistics->tid))
			guard__give_back(one, scheduling, now);
		return;
	}
	pause = watchdog__bites(&one->watchdog, NULL, now, POLLER_TICK_NS);
	if (pause == 0 || scheduling__set((pid_t)one->statistics->tid, "idle:0") < 0)
		return;
	one->statistics->state = STATISTICS_BACKED_OFF;
	one->statistics->back_offs++;
	one->stopped_ns = now;
	one->back_at_ns = now + pause;
}

int guard__main(const struct options *options)
{
	struct statistics *statistics = statistics__open(options->statistics, "guard");

	if (statistics == NULL)
		return poller__fail("map", options->statistics);
	if (options->threads == 0) {
		fputs("nines-poller: --thread is missing: what to watch\n", stderr);
		return POLLER_EXIT_USAGE;
	}
	guarded_used = options->threads;
	for (int i = 0; i < guarded_used; i++) {
		guarded[i].statistics = &statistics->thread[i];
		*guarded[i].statistics = (struct statistics_thread){
			.tid = (uint64_t)options->thread[i].tid,
			.cpu = (uint64_t)options->thread[i].cpu,
			.state = STATISTICS_POLLING,
			.slices = STATISTICS_UNKNOWN,
			.packets = STATISTICS_UNKNOWN,
		};
		watchdog__start(&guarded[i].watchdog, options->thread[i].cpu);
	}
	statistics->threads = (uint64_t)options->threads;
	if (thread__step_aside(options) < 0)
		return poller__fail("schedule above", options->scheduling);
	if (poller__ready() < 0)
		return POLLER_EXIT_FAILED;
	do {
		uint64_t now = statistics__now();

		statistics__update(statistics);
		for (int i = 0; i < guarded_used; i++)
			guard__look(&guarded[i], options->scheduling, now);
	} while (watch__tick(options->netns));
	for (int i = 0; i < guarded_used; i++)
		if (guarded[i].back_at_ns != 0)
			guard__give_back(&guarded[i], options->scheduling, statistics__now());
	return 0;
}
