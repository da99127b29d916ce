// SPDX-License-Identifier: Apache-2.0
/* A program with a timer of 20 kHz, of a real-time policy: it wakes, counts, and sleeps again. */
#define _GNU_SOURCE
#include "bursts.h"

#include <sys/timerfd.h>

static int timer;

static void blow(struct bursts *b)
{
	uint64_t expired, begin;

	if (read(timer, &expired, sizeof expired) != sizeof expired)
		return; /* the signal */
	begin = now_ns();
	bursts_note(b, begin, begin);
}

int main(int argc, char **argv)
{
	struct bursts b = bursts_begin(argc, argv);
	struct itimerspec every = {{0, 50000}, {0, 50000}};
	struct sched_param param = {.sched_priority = 50};

	pin_to(b.target);
	if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
		die("have a real-time policy");
	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	if (timer < 0 || timerfd_settime(timer, 0, &every, NULL) < 0)
		die("make a timer");
	return bursts_run(&b, blow);
}
