// SPDX-License-Identifier: Apache-2.0
/* Memory barriers on the CPUs that run threads of the same process: each is an interrupt. So that
 * there is one to interrupt, a thread of the lowest policy runs on the CPU when nothing else does.
 * It keeps the CPU from going idle, too. */
#define _GNU_SOURCE
#include "bursts.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>

static int command(int what)
{
	return (int)syscall(SYS_membarrier, what, 0, 0);
}

static void *companion(void *cpu)
{
	struct sched_param param = {0};

	pin_to(*(int *)cpu);
	if (sched_setscheduler(0, SCHED_IDLE, &param) < 0)
		die("be the least important");
	while (!bursts_ended)
		;
	return NULL;
}

static void blow(struct bursts *b)
{
	uint64_t begin = now_ns();

	if (command(MEMBARRIER_CMD_PRIVATE_EXPEDITED) < 0)
		die("order memory");
	bursts_note(b, begin, now_ns());
}

int main(int argc, char **argv)
{
	struct bursts b = bursts_begin(argc, argv);
	pthread_t thread;

	if (command(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) < 0)
		die("register for memory barriers");
	if (pthread_create(&thread, NULL, companion, &b.target) != 0)
		die("start a thread");
	pin_off(b.target);
	return bursts_run(&b, blow);
}
