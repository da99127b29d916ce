// SPDX-License-Identifier: Apache-2.0
/*
 * nines-disturb disturbs a CPU or a process deliberately, in a known way at known times: for
 * tests of finding the causes of slow packets, and for experiments on the cost of a
 * disturbance. --help has its options.
 *
 * Each kind is a file: a struct kind with a function that makes one injection. This file
 * makes one injection after the other and writes the log; options.c has the command line.
 */
#define _GNU_SOURCE
#include "disturb.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int place(const struct kind *kind, const struct request *r)
{
	int code;

	if (r->pid != 0 && r->from < 0)
		placement_avoid_process(r->pid);
	if (!kind->remote)
		code = r->cpu < 0 ? 0 : placement_pin(r->cpu);
	else if (r->from >= 0)
		code = placement_pin(r->from);
	else
		code = r->cpu < 0 || kind->needs_pid ? 0 : placement_avoid(r->cpu);
	return code != 0 ? code : placement_schedule(r->policy, r->priority);
}

/* write_log returns false when its reader is gone. */
static bool write_log(const struct kind *kind, const struct request *r, const struct injection *i)
{
	printf("{\"kind\":\"%s\",\"cpu\":%d,\"pid\":%d,\"tid\":%d,\"begin_ns\":%llu,\"end_ns\":%llu,"
	       "\"busy_ns\":%llu,\"events\":%llu}\n",
	       kind->name, r->cpu, (int)r->pid, (int)gettid(), (unsigned long long)i->begin_ns,
	       (unsigned long long)i->end_ns, (unsigned long long)i->busy_ns,
	       (unsigned long long)i->events);
	return fflush(stdout) == 0;
}

static int disturb(const struct kind *kind, const struct request *r)
{
	uint64_t start = clock_now(), next = start;

	srand48(r->cpu); /* the same in each trial, but other times on other CPUs */
	for (uint64_t done = 0; !stopping() && (r->count == 0 || done < r->count); done++) {
		struct injection injection = {0};
		int code;

		clock_sleep_until(next);
		injection.begin_ns = clock_now();
		if (stopping() ||
		    (r->duration_ns != 0 && injection.begin_ns - start >= r->duration_ns))
			break;
		code = kind->inject(r, &injection);
		if (code != 0)
			return code;
		if (injection.events > 0 && !write_log(kind, r, &injection))
			break;
		next = schedule_next(r, next);
	}
	return 0;
}

static int tell_ready(const struct request *r)
{
	if (r->ready < 0)
		return 0;
	if (write(r->ready, "ok\n", 3) != 3 || close(r->ready) < 0)
		return failed("tell descriptor %d that it is ready", r->ready);
	return 0;
}

int main(int argc, char **argv)
{
	struct request request = {.cpu = -1,
				  .from = -1,
				  .ready = -1,
				  .policy = "other",
				  .priority = INT_MIN,
				  .period_ns = 10 * NS_PER_MS,
				  .length_ns = 200 * NS_PER_US};
	int code;
	const struct kind *kind = options_parse(argc, argv, &request, &code);

	if (kind == NULL)
		return code;
	if (request.priority == INT_MIN)
		request.priority =
			strcmp(request.policy, "fifo") == 0 || strcmp(request.policy, "rr") == 0;
	stopping_init();
	prctl(PR_SET_TIMERSLACK, 1ul); /* otherwise sleeps of microseconds last 50 more */
	code = place(kind, &request);
	if (code == 0 && kind->setup != NULL)
		code = kind->setup(&request);
	if (code == 0)
		code = tell_ready(&request);
	if (code == 0)
		code = disturb(kind, &request);
	if (kind->teardown != NULL)
		kind->teardown();
	return code;
}
