// SPDX-License-Identifier: Apache-2.0
/* Computes on the CPU. What is logged is when it had the CPU: a gap in its own clock is someone
 * else's time. */
#define _GNU_SOURCE
#include "bursts.h"

#include <sys/resource.h>

static void blow(struct bursts *b)
{
	uint64_t begin = now_ns(), last = begin, now;

	while ((now = now_ns()) - last < 20000 && now - begin < b->length_ns)
		last = now;
	bursts_note(b, begin, last);
}

int main(int argc, char **argv)
{
	struct bursts b = bursts_begin(argc, argv);

	pin_to(b.target);
	if (setpriority(PRIO_PROCESS, 0, -20) < 0)
		die("be as important as what it disturbs");
	return bursts_run(&b, blow);
}
