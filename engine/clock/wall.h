/*
 * wall: CLOCK_REALTIME, which PTP or NTP keep in step with that of other machines, beside the clock
 * of this one. By it the stamps of two machines can be compared.
 *
 * CLOCK_REALTIME and CLOCK_MONOTONIC run at the same rate. Their difference changes only when
 * someone sets the time (timekeeping_inject_offset and do_settimeofday64 in
 * kernel/time/timekeeping.c).
 */
#ifndef NINES_WALL_H
#define NINES_WALL_H

#include "clock/clock.h"

#include <sys/timex.h>

struct clock_wall {
	struct clock_scale scale; /* its base is the moment of the reading */
	int64_t ahead_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	uint32_t bracket_ns; /* the uncertainty of ahead_ns */
	bool synchronised;
	/* What the kernel was told of how wrong CLOCK_REALTIME may be, at most. It grows by 500 us in
	 * each second after that (second_overflow in kernel/time/ntp.c). The kernel's estimate of the
	 * error says nothing: phc2sys leaves it at the 16 s that it begins with. */
	uint64_t max_error_ns;
};

/* Waits until the scale is as old as for a trial. -errno. */
int clock_read_wall(struct clock_wall *out);

/* What adjtimex(2) says with this result and status. */
void clock_take_timex(struct clock_wall *w, int result, const struct timex *t);

#endif
