// SPDX-License-Identifier: Apache-2.0
/* The clock, and the parser of times such as 200us, 10ms, 1s, 500ns. */
#define _GNU_SOURCE
#include "disturb.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t clock_of(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t clock_now(void)
{
	return clock_of(CLOCK_MONOTONIC);
}

uint64_t clock_thread_cpu(void)
{
	return clock_of(CLOCK_THREAD_CPUTIME_ID);
}

/* The signals that end the program are unblocked only here and in stopping(), so that none
 * is missed between the check and the sleep. */
void clock_sleep_until(uint64_t ns)
{
	sigset_t none;

	sigemptyset(&none);
	while (!stopping()) {
		uint64_t now = clock_now();
		struct timespec left;

		if (now >= ns)
			return;
		left.tv_sec = (time_t)((ns - now) / NS_PER_S);
		left.tv_nsec = (long)((ns - now) % NS_PER_S);
		if (ppoll(NULL, 0, &left, &none) < 0 && errno != EINTR)
			return;
	}
}

bool clock_parse(const char *text, uint64_t *ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", NS_PER_US}, {"ms", NS_PER_MS}, {"s", NS_PER_S}, {"m", 60e9}};
	char *unit;
	double value = strtod(text, &unit);

	for (unsigned i = 0; unit != text && i < sizeof units / sizeof *units; i++)
		if (strcmp(unit, units[i].unit) == 0 && value >= 0 && value * units[i].ns < 1e18) {
			*ns = (uint64_t)(value * units[i].ns);
			return true;
		}
	return false;
}
