// SPDX-License-Identifier: Apache-2.0
/*
 * Interrupts from another CPU, one after the other: to read a counter of another CPU the
 * kernel interrupts that CPU (perf_event_read() in kernel/events/core.c), and waits for it.
 * /proc/interrupts counts them in the line CAL. A CPU that polls while idle, as with the
 * governor haltpoll, answers without an interrupt: there is nothing to disturb.
 */
#define _GNU_SOURCE
#include "disturb.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int counter = -1;

static int ipi_setup(const struct request *request)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.size = sizeof attr;
	attr.type = PERF_TYPE_SOFTWARE; /* needs no hardware */
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	counter = (int)syscall(SYS_perf_event_open, &attr, -1, request->cpu, -1,
			       PERF_FLAG_FD_CLOEXEC);
	if (counter < 0)
		return failed("open a counter on CPU %d (it needs CAP_PERFMON)", request->cpu);
	return 0;
}

static int ipi_inject(const struct request *request, struct injection *injection)
{
	uint64_t value;

	do {
		if (read(counter, &value, sizeof value) != sizeof value)
			return failed("read the counter on CPU %d", request->cpu);
		injection->events++;
		injection->end_ns = clock_now();
	} while (injection->end_ns - injection->begin_ns < request->length_ns && !stopping());
	return 0;
}

const struct kind kind_ipi = {
	.name = "ipi",
	.summary = "interrupts the CPU from another one, again and again",
	.remote = true,
	.needs_cpu = true,
	.setup = ipi_setup,
	.inject = ipi_inject,
};
