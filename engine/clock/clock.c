/* Calibrates the TSC against CLOCK_MONOTONIC; see clock.h. */
#include "clock/clock.h"

#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct clock_state clock_global;
static struct clock_point first_point;

enum {
	POINT_READS = 101,
	/* A read that was interrupted between its two stamps is inexact, so keep only those at most
	 * this much wider than the best. */
	BRACKET_TOLERANCE_PERCENT = 50,
};

uint64_t clock_monotonic_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Whether /proc/cpuinfo lists a flag. In a virtual machine CPUID may hide
 * leaf 0x80000007 while the kernel knows that the TSC is good (kvmclock, tsc_known_freq). */
static bool cpuinfo_has(const char *flag)
{
	char line[8192], word[64];
	bool found = false;
	FILE *f = fopen("/proc/cpuinfo", "re");
	if (!f)
		return false;
	snprintf(word, sizeof word, " %s", flag);
	while (!found && fgets(line, sizeof line, f)) {
		if (strncmp(line, "flags", 5) != 0)
			continue;
		const char *at = strstr(line, word);
		if (at) {
			char after = at[strlen(word)];
			found = after == ' ' || after == '\n' || after == '\0';
		}
		break;
	}
	fclose(f);
	return found;
}

static void check_tsc(struct clock_state *c)
{
	unsigned a, b, cc, d;
	/* Intel SDM vol. 3, 18.17: leaf 0x80000007 EDX bit 8 is the invariant TSC,
   * which is constant and nonstop. Leaf 0x80000001 EDX bit 27 is RDTSCP. */
	bool invariant = __get_cpuid(0x80000007, &a, &b, &cc, &d) && (d >> 8 & 1);
	bool rdtscp = __get_cpuid(0x80000001, &a, &b, &cc, &d) && (d >> 27 & 1);
	c->constant = invariant || cpuinfo_has("constant_tsc");
	c->nonstop = invariant || cpuinfo_has("nonstop_tsc");
	c->use_tsc = c->constant && c->nonstop && rdtscp;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

struct clock_point clock_read_point(void)
{
	if (!clock_global.use_tsc) {
		uint64_t ns = clock_monotonic_ns();
		return (struct clock_point){.ticks = ns, .ns = ns, .bracket_ns = 1};
	}
	struct {
		uint64_t ticks, ns, width;
	} reads[POINT_READS];
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < POINT_READS; i++) {
		_mm_lfence();
		uint64_t before = clock_ticks();
		reads[i].ns = clock_monotonic_ns();
		uint64_t after = clock_ticks();
		_mm_lfence();
		reads[i].width = after - before;
		reads[i].ticks = before + reads[i].width / 2;
		if (reads[i].width < best)
			best = reads[i].width;
	}
	/* Each narrow read gives the TSC at the first read's time; the point is their median. The
	 * rough rate is exact enough over these microseconds. */
	double hz = clock_global.scale.hz > 0 ? clock_global.scale.hz : 2.5e9;
	uint64_t at_first[POINT_READS];
	size_t kept = 0;
	for (int i = 0; i < POINT_READS; i++) {
		if (reads[i].width * 100 > best * (100 + BRACKET_TOLERANCE_PERCENT))
			continue;
		at_first[kept++] = reads[i].ticks -
				   (uint64_t)((double)(reads[i].ns - reads[0].ns) * hz / 1e9 + 0.5);
	}
	qsort(at_first, kept, sizeof at_first[0], compare_u64);
	return (struct clock_point){.ticks = at_first[kept / 2],
				    .ns = reads[0].ns,
				    .bracket_ns = (uint32_t)((double)best * 1e9 / hz + 0.5)};
}

struct clock_scale clock_rebase(struct clock_scale scale, struct clock_point base)
{
	scale.base = base;
	return scale;
}

static struct clock_scale scale_of(double hz, struct clock_point base)
{
	double one = (double)(UINT64_C(1) << CLOCK_SHIFT);
	return (struct clock_scale){
		.base = base,
		.hz = hz,
		.ns_per_tick = (uint64_t)(one * 1e9 / hz + 0.5),
		.ticks_per_ns = (uint64_t)(one * hz / 1e9 + 0.5),
	};
}

uint64_t clock_ticks_per_ns(uint64_t ns_per_tick)
{
	unsigned __int128 inverse = ((unsigned __int128)1 << 2 * CLOCK_SHIFT) / ns_per_tick;
	return inverse > UINT64_MAX ? UINT64_MAX : (uint64_t)inverse;
}

struct clock_scale clock_scale_between(struct clock_point from, struct clock_point to)
{
	if (!clock_global.use_tsc)
		return scale_of(1e9, to);
	return scale_of((double)(to.ticks - from.ticks) * 1e9 / (double)(to.ns - from.ns), to);
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u),
			     .tv_nsec = (long)(ns % 1000000000u)};
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) != 0) {
	}
}

void clock_init(void)
{
	check_tsc(&clock_global);
	first_point = clock_read_point();
	sleep_ns(20 * 1000000u);
	clock_global.scale = clock_scale_between(first_point, clock_read_point());
	/* Now that the rate is known, take the first point again, precisely. */
	first_point = clock_read_point();
}

struct clock_scale clock_calibrate(uint64_t min_ns)
{
	uint64_t age = clock_monotonic_ns() - first_point.ns;
	if (age < min_ns)
		sleep_ns(min_ns - age);
	struct clock_point now = clock_read_point();
	return clock_scale_between(first_point, now);
}
