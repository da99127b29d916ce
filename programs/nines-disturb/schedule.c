// SPDX-License-Identifier: Apache-2.0
/* When the next injection begins. All patterns begin one in each period on average. */
#define _GNU_SOURCE
#include "disturb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A burst has that many injections on average, a length apart. */
#define BURST 5

static const char *const names[] = {
	[PATTERN_CONSTANT] = "constant",
	[PATTERN_POISSON] = "poisson",
	[PATTERN_BURSTS] = "bursts",
};

bool schedule_parse(const char *name, enum pattern *pattern)
{
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0) {
			*pattern = (enum pattern)i;
			return true;
		}
	return false;
}

static uint64_t exponential(double mean)
{
	return (uint64_t)(-log1p(-drand48()) * mean);
}

/* gap is from one begin to the next, for the two random patterns. */
static uint64_t gap(const struct request *r)
{
	double idle = (double)(r->period_ns - r->length_ns);

	if (r->pattern == PATTERN_BURSTS && drand48() * BURST >= 1)
		return 2 * r->length_ns < r->period_ns ? 2 * r->length_ns : r->period_ns;
	if (r->pattern == PATTERN_BURSTS && 2 * r->length_ns < r->period_ns)
		idle = BURST * (double)r->period_ns - (BURST - 1) * 2.0 * (double)r->length_ns -
		       (double)r->length_ns;
	return r->length_ns + exponential(idle);
}

uint64_t schedule_next(const struct request *r, uint64_t begun_ns)
{
	uint64_t now = clock_now(), next;

	/* Constant periods stay aligned; a missed one is skipped. */
	next = begun_ns + (r->pattern == PATTERN_CONSTANT ? r->period_ns : gap(r));
	return now > next + r->period_ns ? now : next;
}
