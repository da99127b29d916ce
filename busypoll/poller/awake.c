// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps CPUs awake: a thread on each spins at SCHED_IDLE, so that any other runnable thread
 * gets the CPU at once. A packet's reader is then woken on a running CPU, not on one that
 * must first leave a halt (in a virtual machine by way of the hypervisor).
 */
#define _GNU_SOURCE
#include "poller.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void awake__relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

struct awake {
	struct statistics_thread *statistics;
	int cpu;
	atomic_int failed;
};

static void *awake__spin(void *argument)
{
	struct awake *awake = argument;
	int failed = 0;

	awake->statistics->tid = (uint64_t)gettid();
	if (thread__pin(0, awake->cpu) < 0 || scheduling__set(0, "idle:0") < 0)
		failed = errno;
	awake->statistics->state = STATISTICS_POLLING;
	atomic_store(&awake->failed, failed);
	if (failed != 0)
		return NULL;
	for (;;) /* until the process ends */
		awake__relax();
}

int awake__main(const struct options *options)
{
	static struct awake awake[STATISTICS_THREADS];
	struct statistics *statistics = statistics__open(options->statistics, "awake");

	if (statistics == NULL)
		return poller__fail("map", options->statistics);
	for (int i = 0; i < options->cpus; i++) {
		pthread_t thread;
		char cpu[16];

		awake[i] = (struct awake){.statistics = &statistics->thread[i],
					  .cpu = options->cpu[i]};
		awake[i].statistics->cpu = (uint64_t)options->cpu[i];
		awake[i].statistics->packets = STATISTICS_UNKNOWN;
		awake[i].statistics->slices = STATISTICS_UNKNOWN;
		atomic_store(&awake[i].failed, -1);
		snprintf(cpu, sizeof cpu, "%d", options->cpu[i]);
		errno = pthread_create(&thread, NULL, awake__spin, &awake[i]);
		if (errno != 0)
			return poller__fail("start a thread for CPU", cpu);
		while (atomic_load(&awake[i].failed) < 0)
			usleep(100);
		errno = atomic_load(&awake[i].failed);
		if (errno != 0)
			return poller__fail("keep awake CPU", cpu);
		statistics->threads = (uint64_t)i + 1;
	}
	if (poller__ready() < 0)
		return POLLER_EXIT_FAILED;
	do
		statistics__update(statistics);
	while (watch__tick(options->netns));
	return 0;
}
