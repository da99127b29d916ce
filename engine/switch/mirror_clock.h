/*
 * mirror_clock: the wall clock of all mirrors of a process. Two mirrors of one switch are the two
 * ends of a measurement, so a stamp must convert to the same time, whichever mirror writes it and
 * whenever.
 *
 * Stamps are converted by lines: each line begins where the one before ends, and ends where the
 * clock will be a second later. A line is for stamps taken after it was made, and stamps are taken
 * before they are converted, so no stamp's time ever changes.
 */
#ifndef NINES_MIRROR_CLOCK_H
#define NINES_MIRROR_CLOCK_H

#include <stdint.h>

/* Call before a mirror's first time, and after its last; the first mirror restarts the clock. */
void mirror_clock_acquire(void);
void mirror_clock_release(void);

/* Adds a line if it is time for one. Call several times a second. */
void mirror_clock_keep(void);

/* The time of a stamp, in nanoseconds since 1970. Later stamps have later times. */
uint64_t mirror_clock_wall_ns(uint64_t ticks);

#endif
