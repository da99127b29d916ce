// SPDX-License-Identifier: Apache-2.0
/*
 * High-resolution timers that expire one after the other, each with its own interrupt on
 * the CPU that armed them. No thread waits for them.
 */
#define _GNU_SOURCE
#include "disturb.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* The time between two of them: about as long as a timer interrupt takes. */
#define EVERY_NS (4 * NS_PER_US)
/* The longest time to arm one, and how long before the first they are armed. */
#define ARM_NS	 (2 * NS_PER_US)
#define AHEAD_NS (100 * NS_PER_US)
#define MOST	 20000

static int *timers;
static size_t timer_count;

static int timers_setup(const struct request *request)
{
	struct rlimit files;

	/* Each is a file descriptor. The rest is for other open files. */
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return failed("ask how many files it may open");
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		return failed("open %llu files", (unsigned long long)files.rlim_cur);
	timer_count = (size_t)(request->length_ns / EVERY_NS) + 1;
	if (timer_count > MOST)
		timer_count = MOST;
	if (timer_count > files.rlim_cur - 32)
		timer_count = files.rlim_cur - 32;
	timers = calloc(timer_count, sizeof *timers);
	if (timers == NULL)
		return failed("have memory for %zu timers", timer_count);
	for (size_t i = 0; i < timer_count; i++) {
		timers[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		if (timers[i] < 0)
			return failed("make timer %zu of %zu", i + 1, timer_count);
	}
	return 0;
}

/* If it takes more than MOST timers, they are armed in several rounds. */
static int timers_inject(const struct request *request, struct injection *injection)
{
	uint64_t end = 0;

	injection->begin_ns = clock_now() + AHEAD_NS + timer_count * ARM_NS;
	end = injection->begin_ns + request->length_ns;
	for (uint64_t next = injection->begin_ns; next < end && !stopping();) {
		for (size_t i = 0; i < timer_count && next < end; i++, next += EVERY_NS) {
			struct itimerspec at = {
				.it_value = {(time_t)(next / NS_PER_S), (long)(next % NS_PER_S)}};

			if (timerfd_settime(timers[i], TFD_TIMER_ABSTIME, &at, NULL) < 0)
				return failed("arm a timer");
			injection->events++;
		}
		injection->end_ns = next;
		clock_sleep_until(next);
	}
	return 0;
}

const struct kind kind_timers = {
	.name = "timers",
	.summary = "has timers expire on the CPU every 4 us, each with an interrupt",
	.setup = timers_setup,
	.inject = timers_inject,
};
