// SPDX-License-Identifier: Apache-2.0
/*
 * A thread's scheduling policy, from "fifo:50", "rr:1", "other:-5", "batch:0" or "idle:0":
 * a priority of 1 to 99 for the first two, a niceness for the others, sched(7).
 */
#define _GNU_SOURCE
#include "scheduling.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const struct {
	const char *name;
	int policy;
} policies[] = {
	{"other:", SCHED_OTHER}, {"batch:", SCHED_BATCH}, {"idle:", SCHED_IDLE},
	{"fifo:", SCHED_FIFO},	 {"rr:", SCHED_RR},
};

int scheduling__set(pid_t tid, const char *text)
{
	for (unsigned i = 0; i < sizeof policies / sizeof *policies; i++) {
		size_t length = strlen(policies[i].name);
		struct sched_param param = {0};
		char *end;
		int value;

		if (strncmp(text, policies[i].name, length) != 0)
			continue;
		value = (int)strtol(text + length, &end, 10);
		if (end == text + length || *end != '\0')
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
