// SPDX-License-Identifier: Apache-2.0
/*
 * Checks every tick whether a polling thread does harm:
 *
 *  - it starves the softirqs of its CPU: ksoftirqd is runnable there and has not run
 *    since the last tick. A thread with a real-time policy can do that, and stop
 *    timers, RCU and all other devices of the CPU. A poller can also starve other
 *    threads that packets need: with epoll, the thread of threaded NAPI;
 *  - it is starved itself: others have its CPU for more than half of the time, for some
 *    ticks. Then most packets wait for its turn, or for the timer that defers interrupts,
 *    which is worse than interrupts.
 *
 * In both cases it backs off: the devices return to their interrupts, and the
 * thread ends, for a while that doubles each time that this happens again soon.
 *
 * It cannot tell real-time throttling (sched_rt_runtime_us, the fair server of 6.12) from
 * other threads on the CPU, and backing off would not end it. The statistics count it as
 * time waited.
 */
#define _GNU_SOURCE
#include "watchdog.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STARVED_TICKS 3
#define FIRST_NS      1000000000ull
#define LONGEST_NS    16000000000ull
/* A back-off this long after the last one starts with the shortest pause. */
#define FORGIVEN_NS 60000000000ull

static bool watchdog__line(const char *path, char *text, int size)
{
	FILE *file = fopen(path, "re");
	bool read;

	if (file == NULL)
		return false;
	read = fgets(text, size, file) != NULL;
	fclose(file);
	return read;
}

/* The process id of ksoftirqd/CPU; 0 if it cannot be seen. */
static int watchdog__ksoftirqd(int cpu)
{
	char wanted[32];
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int found = 0;

	if (proc == NULL)
		return 0;
	snprintf(wanted, sizeof wanted, "ksoftirqd/%d\n", cpu);
	while (found == 0 && (entry = readdir(proc)) != NULL) {
		char path[300];
		char name[32];

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof path, "/proc/%s/comm", entry->d_name);
		if (watchdog__line(path, name, sizeof name) && strcmp(name, wanted) == 0)
			found = atoi(entry->d_name);
	}
	closedir(proc);
	return found;
}

void watchdog__start(struct watchdog *watchdog, int cpu)
{
	int ksoftirqd = watchdog__ksoftirqd(cpu);

	*watchdog = (struct watchdog){0};
	if (ksoftirqd != 0)
		watchdog__heed(watchdog, ksoftirqd);
}

void watchdog__heed(struct watchdog *watchdog, int tid)
{
	watchdog->others[watchdog->others_used++].tid = tid;
}

/* Runnable since the last tick without having run. */
static bool watchdog__other_starves(struct watchdog_other *other)
{
	char path[64];
	char text[512];
	const char *state;
	uint64_t ran;
	bool runnable;
	bool starved;

	snprintf(path, sizeof path, "/proc/%d/stat", other->tid);
	if (!watchdog__line(path, text, sizeof text))
		return false;
	state = strrchr(text, ')'); /* proc(5): the name, in brackets, then the state */
	runnable = state != NULL && strncmp(state, ") R", 3) == 0;
	snprintf(path, sizeof path, "/proc/%d/schedstat", other->tid);
	if (!watchdog__line(path, text, sizeof text))
		return false;
	ran = strtoull(text, NULL, 10);
	starved = runnable && other->was_runnable && ran == other->ran;
	other->was_runnable = runnable;
	other->ran = ran;
	return starved;
}

static bool watchdog__others_starve(struct watchdog *watchdog)
{
	bool starved = false;

	for (int i = 0; i < watchdog->others_used; i++)
		starved = watchdog__other_starves(&watchdog->others[i]) || starved;
	return starved;
}

/* Reports whether the thread got less than half of the CPU time that it wanted, for some
 * ticks; the times are its totals. */
static bool watchdog__thread_starves(struct watchdog *watchdog, uint64_t cpu_ns, uint64_t waited_ns,
				     uint64_t tick_ns)
{
	uint64_t had = cpu_ns - watchdog->cpu_ns;
	uint64_t waited = waited_ns - watchdog->waited_ns;

	watchdog->cpu_ns = cpu_ns;
	watchdog->waited_ns = waited_ns;
	/* It may also sleep, as adaptive ones do. The kernel counts a wait when it ends: a
	 * thread that has not run since has neither time. */
	if (had * 2 > tick_ns || (waited * 4 < tick_ns && had > 0))
		watchdog->starved = 0;
	else
		watchdog->starved++;
	return watchdog->starved >= STARVED_TICKS;
}

uint64_t watchdog__bites(struct watchdog *watchdog, const struct statistics_thread *thread,
			 uint64_t now, uint64_t tick_ns)
{
	bool others = watchdog__others_starve(watchdog);
	bool itself = thread != NULL && watchdog__thread_starves(watchdog, thread->cpu_ns,
								 thread->waited_ns, tick_ns);

	if (!others && !itself)
		return 0;
	if (watchdog->last_ns == 0 || now - watchdog->last_ns > FORGIVEN_NS)
		watchdog->pause_ns = FIRST_NS;
	else if (watchdog->pause_ns < LONGEST_NS)
		watchdog->pause_ns *= 2;
	watchdog->last_ns = now;
	watchdog->starved = 0;
	for (int i = 0; i < watchdog->others_used; i++)
		watchdog->others[i].was_runnable = false;
	return watchdog->pause_ns;
}
