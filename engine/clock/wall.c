/* Reads CLOCK_REALTIME beside CLOCK_MONOTONIC, and what the kernel knows about its error; see wall.h. */
#include "clock/wall.h"

#include <errno.h>

enum { WALL_READS = 101 };

static int64_t ns_of(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void clock_take_timex(struct clock_wall *w, int result, const struct timex *t)
{
	w->synchronised = result >= 0 && !(t->status & (STA_UNSYNC | STA_CLOCKERR));
	/* It is in microseconds. */
	w->max_error_ns = t->maxerror > 0 ? (uint64_t)t->maxerror * 1000 : 0;
}

int clock_read_wall(struct clock_wall *out)
{
	/* Reading needs no right: modes is 0. */
	struct timex t = {0};
	*out = (struct clock_wall){.scale = clock_calibrate(CLOCK_CALIBRATION_NS)};
	/* The narrowest of many reads, as others may be interrupted between their two stamps. */
	int64_t best = INT64_MAX;
	for (int i = 0; i < WALL_READS; i++) {
		int64_t before = ns_of(CLOCK_MONOTONIC), real = ns_of(CLOCK_REALTIME);
		int64_t width = ns_of(CLOCK_MONOTONIC) - before;
		if (width >= best)
			continue;
		best = width;
		out->ahead_ns = real - (before + width / 2);
	}
	out->bracket_ns = (uint32_t)(best > UINT32_MAX ? UINT32_MAX : best);
	int result = adjtimex(&t);
	if (result < 0)
		return -errno;
	clock_take_timex(out, result, &t);
	return 0;
}
