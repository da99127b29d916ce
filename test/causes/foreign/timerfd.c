// SPDX-License-Identifier: Apache-2.0
/* A program with a timer of 21 kHz, of a real-time policy: it wakes, counts, and sleeps again. */
#define _GNU_SOURCE
#include "bursts.h"

#include <sys/timerfd.h>

/* Not a part of the time between two packets, or it would hit all of them or none. */
enum { PERIOD_NS = 47000, INTERRUPT_NS = 10000 };

static int timer;
static uint64_t due;

/* The blow begins when the timer is due, and ends when the thread is about to sleep again. Where the timer
 * was due more than once, nobody read: it interrupted once, and was not started again. */
static void blow(struct bursts *b)
{
	uint64_t expired, begin;

	if (read(timer, &expired, sizeof expired) != sizeof expired)
		return; /* the signal */
	begin = due;
	due += expired * PERIOD_NS;
	bursts_note(b, begin, expired == 1 ? now_ns() : begin + INTERRUPT_NS);
}

int main(int argc, char **argv)
{
	struct bursts b = bursts_begin(argc, argv);
	struct itimerspec every = {.it_interval.tv_nsec = PERIOD_NS};
	struct sched_param param = {.sched_priority = 50};

	pin_to(b.target);
	if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
		die("have a real-time policy");
	due = now_ns() + PERIOD_NS;
	every.it_value.tv_sec = (time_t)(due / 1000000000u);
	every.it_value.tv_nsec = (long)(due % 1000000000u);
	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	if (timer < 0 || timerfd_settime(timer, TFD_TIMER_ABSTIME, &every, NULL) < 0)
		die("make a timer");
	return bursts_run(&b, blow);
}
