/*
 * mirror_clock: the wall clock of all mirrors of a process. Two mirrors of one switch
 * are the two ends of a measurement, so a stamp has to become the same time whichever
 * writes it, and whenever.
 *
 * Stamps become times by lines: each begins where the one before has led, and leads to
 * where the clock will be a second later. A line is for stamps after its making, and a
 * stamp is taken before it is turned into a time, so no time changes afterwards.
 */
#ifndef NINES_MIRROR_CLOCK_H
#define NINES_MIRROR_CLOCK_H

#include <stdint.h>

/* Before a mirror's first time, and after its last: the first begins the clock anew. */
void mirror_clock_acquire(void);
void mirror_clock_release(void);

/* Makes a line if it is time for one. To be called several times a second. */
void mirror_clock_keep(void);

/* The time of a stamp, in nanoseconds since 1970. It rises with the stamps. */
uint64_t mirror_clock_wall_ns(uint64_t ticks);

#endif
