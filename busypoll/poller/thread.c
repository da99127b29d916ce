// SPDX-License-Identifier: Apache-2.0
/* A thread's CPU and control group, sched(7). */
#define _GNU_SOURCE
#include "poller.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int thread__pin(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(tid, sizeof set, &set);
}

int thread__join(const char *file)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	int failed;

	if (fd < 0)
		return -1;
	failed = write(fd, "0", 1) != 1;
	close(fd);
	return failed ? -1 : 0;
}

int thread__step_aside(const struct options *options)
{
	cpu_set_t set;
	char above[32];
	int priority;

	if (sched_getaffinity(0, sizeof set, &set) < 0)
		return -1;
	for (int i = 0; i < options->cpus; i++)
		CPU_CLR(options->cpu[i], &set);
	if (CPU_COUNT(&set) > 0 && sched_setaffinity(0, sizeof set, &set) < 0)
		return -1;
	if (sscanf(options->scheduling, "fifo:%d", &priority) != 1 &&
	    sscanf(options->scheduling, "rr:%d", &priority) != 1)
		return 0;
	if (priority > 98)
		return 0;
	snprintf(above, sizeof above, "fifo:%d", priority + 1);
	return scheduling__set(0, above);
}
