// SPDX-License-Identifier: Apache-2.0
/* A thread's CPU and its policy, sched(7). */
#define _GNU_SOURCE
#include "poller.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct {
	const char *name;
	int policy;
} policies[] = {
	{"other:", SCHED_OTHER}, {"batch:", SCHED_BATCH}, {"idle:", SCHED_IDLE},
	{"fifo:", SCHED_FIFO},	 {"rr:", SCHED_RR},
};

int thread__pin(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(tid, sizeof set, &set);
}

int thread__schedule(pid_t tid, const char *scheduling)
{
	for (unsigned i = 0; i < sizeof policies / sizeof *policies; i++) {
		size_t length = strlen(policies[i].name);
		struct sched_param param = {0};
		char *end;
		int value;

		if (strncmp(scheduling, policies[i].name, length) != 0)
			continue;
		value = (int)strtol(scheduling + length, &end, 10);
		if (end == scheduling + length || *end != '\0')
			break;
		if (policies[i].policy == SCHED_FIFO || policies[i].policy == SCHED_RR) {
			param.sched_priority = value;
			return sched_setscheduler(tid, policies[i].policy, &param);
		}
		if (sched_setscheduler(tid, policies[i].policy, &param) < 0)
			return -1;
		return setpriority(PRIO_PROCESS, (id_t)tid, value);
	}
	errno = EINVAL;
	return -1;
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
	return thread__schedule(0, above);
}
