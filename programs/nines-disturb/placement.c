// SPDX-License-Identifier: Apache-2.0
/* A thread's CPU and its policy: a priority of 1 to 99 for fifo and rr, a niceness for the
 * others, sched(7). */
#define _GNU_SOURCE
#include "disturb.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

int placement_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu < CPU_SETSIZE)
		CPU_SET((unsigned)cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set) < 0) /* EINVAL for an empty set, too */
		return failed(
			"run on CPU %d (does it exist, and does this process's cpuset have it?)",
			cpu);
	return 0;
}

int placement_avoid(int cpu)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof set, &set) < 0)
		return failed("ask for the CPUs of this process");
	if (cpu >= 0 && cpu < CPU_SETSIZE)
		CPU_CLR((unsigned)cpu, &set);
	if (CPU_COUNT(&set) > 0 && sched_setaffinity(0, sizeof set, &set) == 0)
		return 0;
	if (CPU_COUNT(&set) == 0 || errno == EINVAL) {
		fprintf(stderr,
			"nines-disturb: this process may run on CPU %d only: --from names another\n",
			cpu);
		return DISTURB_EXIT_HOST;
	}
	return failed("leave CPU %d", cpu);
}

void placement_avoid_process(pid_t pid)
{
	cpu_set_t set;
	cpu_set_t theirs;

	if (sched_getaffinity(0, sizeof set, &set) < 0 ||
	    sched_getaffinity(pid, sizeof theirs, &theirs) < 0)
		return;
	CPU_AND(&theirs, &theirs, &set);
	CPU_XOR(&set, &set, &theirs);
	if (CPU_COUNT(&set) > 0)
		(void)sched_setaffinity(0, sizeof set, &set); /* its present place is second best */
}

int placement_schedule(const char *policy, int priority)
{
	static const struct {
		const char *name;
		int policy;
	} policies[] = {
		{"other", SCHED_OTHER}, {"batch", SCHED_BATCH}, {"idle", SCHED_IDLE},
		{"fifo", SCHED_FIFO},	{"rr", SCHED_RR},
	};

	for (unsigned i = 0; i < sizeof policies / sizeof *policies; i++) {
		bool real_time = policies[i].policy == SCHED_FIFO || policies[i].policy == SCHED_RR;
		struct sched_param param = {.sched_priority = real_time ? priority : 0};

		if (strcmp(policy, policies[i].name) != 0)
			continue;
		if (real_time ? priority < 1 || priority > 99 : priority < -20 || priority > 19)
			break;
		if (sched_setscheduler(0, policies[i].policy, &param) < 0 ||
		    (!real_time && setpriority(PRIO_PROCESS, 0, priority) < 0))
			return failed("be scheduled by %s with %d", policy, priority);
		return 0;
	}
	fprintf(stderr,
		"nines-disturb: --policy is other, batch or idle with a --priority of -20 to 19, or fifo or rr with 1 to 99; not %s with %d\n",
		policy, priority);
	return DISTURB_EXIT_USAGE;
}
