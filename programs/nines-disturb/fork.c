// SPDX-License-Identifier: Apache-2.0
/* Starts and reaps processes, one after the other. */
#include "disturb.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The children's CPU time is known after reaping, in microseconds. */
static uint64_t fork_children(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * NS_PER_S +
	       ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * NS_PER_US;
}

static int fork_inject(const struct request *request, struct injection *injection)
{
	uint64_t before = clock_thread_cpu() + fork_children();

	do {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		if (child < 0 || waitpid(child, NULL, 0) < 0)
			return failed("start a process");
		injection->events++;
		injection->end_ns = clock_now();
	} while (injection->end_ns - injection->begin_ns < request->length_ns && !stopping());
	injection->busy_ns = clock_thread_cpu() + fork_children() - before;
	return 0;
}

const struct kind kind_fork = {
	.name = "fork",
	.summary = "starts and reaps processes, as a shell script does",
	.inject = fork_inject,
};
