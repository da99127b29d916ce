/*
 * clock: one clock for everything, the TSC calibrated against CLOCK_MONOTONIC.
 *
 * The measuring thread stamps with clock_ticks() (a few nanoseconds, no system call) and converts
 * differences to nanoseconds with a fixed point multiply. The control thread takes points (pairs of
 * ticks and CLOCK_MONOTONIC) at both ends of a trial, and computes the scale, the drift and the
 * largest error from them.
 *
 * If the TSC is unusable (no constant_tsc or nonstop_tsc), ticks are CLOCK_MONOTONIC nanoseconds:
 * exact, but slower.
 */
#ifndef NINES_CLOCK_H
#define NINES_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <x86intrin.h>

/* A moment on both clocks. bracket_ns is the time between the two TSC reads around the
 * CLOCK_MONOTONIC read: the moment's uncertainty. */
struct clock_point {
	uint64_t ticks;
	uint64_t ns;
	uint32_t bracket_ns;
};

/* ns = base.ns + (ticks - base.ticks) * ns_per_tick / 2^CLOCK_SHIFT. */
struct clock_scale {
	struct clock_point base;
	double hz;
	uint64_t ns_per_tick; /* fixed point, CLOCK_SHIFT fraction bits */
	uint64_t ticks_per_ns;
};

/* 56 fraction bits: a tick of up to 255 ns fits 64 bits, and the rounding of
 * one part in 2^56 is 1 ns in two years. */
enum { CLOCK_SHIFT = 56 };

/* A trial's baseline of calibration: 50 ns of uncertainty in 200 ms is 0.25 ppm. */
enum { CLOCK_CALIBRATION_NS = 200000000 };

struct clock_state {
	bool use_tsc;
	bool constant; /* ticks at the same rate at any core frequency */
	bool nonstop; /* ticks on in deep sleep */
	struct clock_scale scale;
};

/* Set once by clock_init, read-only afterwards. */
extern struct clock_state clock_global;

/* Checks the TSC and calibrates it for 20 ms. Call once, before any thread. */
void clock_init(void);

uint64_t clock_monotonic_ns(void);

/* Reads both clocks many times, rejects wide brackets, and returns the median. */
struct clock_point clock_read_point(void);

/* The scale through two points; the further apart they are, the more precise it is. */
struct clock_scale clock_scale_between(struct clock_point from, struct clock_point to);

/* The inverse of a scale's ns_per_tick, for one that came without it. */
uint64_t clock_ticks_per_ns(uint64_t ns_per_tick);

/* The same rate, based at another point. */
struct clock_scale clock_rebase(struct clock_scale scale, struct clock_point base);

/* Calibration for a trial's start, based on the engine's first point; waits until that is at least
 * min_ns old. */
struct clock_scale clock_calibrate(uint64_t min_ns);

static inline uint64_t clock_ticks_on(uint32_t *cpu)
{
	if (__builtin_expect(clock_global.use_tsc, 1)) {
		uint32_t aux;
		/* rdtscp waits for all earlier instructions, so the stamp is not taken before the
		 * receive that it belongs to. Linux keeps the CPU number in the low 12 bits of
		 * TSC_AUX (arch/x86/include/asm/segment.h, VDSO_CPUNODE_BITS). */
		uint64_t ticks = __rdtscp(&aux);
		*cpu = aux & 0xfff;
		return ticks;
	}
	*cpu = UINT32_MAX;
	return clock_monotonic_ns();
}

static inline uint64_t clock_ticks(void)
{
	uint32_t cpu;
	return clock_ticks_on(&cpu);
}

/* A stamp that may be taken a few instructions early or late: half the cost, for the packets of a
 * burst after its first. */
static inline uint64_t clock_ticks_loose(void)
{
	return __builtin_expect(clock_global.use_tsc, 1) ? __rdtsc() : clock_monotonic_ns();
}

static inline uint64_t clock_ticks_to_ns(const struct clock_scale *s, uint64_t ticks)
{
	return (uint64_t)(((unsigned __int128)ticks * s->ns_per_tick) >> CLOCK_SHIFT);
}

static inline uint64_t clock_ns_to_ticks(const struct clock_scale *s, uint64_t ns)
{
	return (uint64_t)(((unsigned __int128)ns * s->ticks_per_ns) >> CLOCK_SHIFT);
}

/* CLOCK_MONOTONIC of a stamp, before or after the base. */
static inline uint64_t clock_at_ns(const struct clock_scale *s, uint64_t ticks)
{
	if (ticks >= s->base.ticks)
		return s->base.ns + clock_ticks_to_ns(s, ticks - s->base.ticks);
	return s->base.ns - clock_ticks_to_ns(s, s->base.ticks - ticks);
}

static inline uint64_t clock_at_ticks(const struct clock_scale *s, uint64_t ns)
{
	if (ns >= s->base.ns)
		return s->base.ticks + clock_ns_to_ticks(s, ns - s->base.ns);
	return s->base.ticks - clock_ns_to_ticks(s, s->base.ns - ns);
}

#endif
