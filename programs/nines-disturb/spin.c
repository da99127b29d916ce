// SPDX-License-Identifier: Apache-2.0
/* A hog: it uses the CPU for the whole length, as far as its policy allows. */
#include "disturb.h"

static int spin_inject(const struct request *request, struct injection *injection)
{
	uint64_t before = clock_thread_cpu();

	do
		injection->end_ns = clock_now();
	while (injection->end_ns - injection->begin_ns < request->length_ns && !stopping());
	injection->busy_ns = clock_thread_cpu() - before;
	injection->events = 1;
	return 0;
}

const struct kind kind_spin = {
	.name = "spin",
	.summary = "takes the CPU, as a process that computes does",
	.inject = spin_inject,
};
