// SPDX-License-Identifier: Apache-2.0
/* Turns a counter of another CPU on and off: each time the kernel interrupts that CPU, and waits
 * for it (perf_event_enable() in kernel/events/core.c). */
#define _GNU_SOURCE
#include "bursts.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

static int counter;

static void blow(struct bursts *b)
{
	static bool on;
	uint64_t begin = now_ns();

	if (ioctl(counter, on ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0) < 0)
		die("turn the counter on or off");
	on = !on;
	bursts_note(b, begin, now_ns());
	while (now_ns() < begin + 40000)
		;
}

int main(int argc, char **argv)
{
	struct bursts b = bursts_begin(argc, argv);
	struct perf_event_attr attr = {.size = sizeof attr,
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CONTEXT_SWITCHES,
				       .disabled = 1};

	pin_off(b.target);
	counter = (int)syscall(SYS_perf_event_open, &attr, -1, b.target, -1, 0);
	if (counter < 0)
		die("open a counter of the CPU");
	return bursts_run(&b, blow);
}
