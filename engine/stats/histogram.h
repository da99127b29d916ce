/*
 * histogram: log-linear counts with exactly HdrHistogram's index layout for
 * lowest discernible value 1, highest trackable value 60 s in nanoseconds and
 * 3 significant digits, so that any HdrHistogram library imports the counts.
 * http://hdrhistogram.github.io/HdrHistogram/ (AbstractHistogram.countsArrayIndex)
 *
 * Recording is a shift, an increment and three compares: a few nanoseconds, no
 * allocation. Owned by one measuring thread; others read it when that is done.
 */
#ifndef NINES_HISTOGRAM_H
#define NINES_HISTOGRAM_H

#include <stdint.h>

enum {
	/* 2048 = the power of two above 2 * 10^3: 3 significant digits. */
	HISTOGRAM_SUB_BITS = 11,
	HISTOGRAM_HALF = 1 << (HISTOGRAM_SUB_BITS - 1),
	/* 2048 << 25 is the first power above 60e9: 26 buckets, and one half. */
	HISTOGRAM_BUCKETS = 26,
	HISTOGRAM_COUNTS = (HISTOGRAM_BUCKETS + 1) * HISTOGRAM_HALF,
};

#define HISTOGRAM_HIGHEST_NS UINT64_C(60000000000)

struct histogram {
	uint64_t count;
	uint64_t sum;
	uint64_t min; /* exact; UINT64_MAX when empty */
	uint64_t max; /* exact, also above 60 s */
	uint64_t counts[HISTOGRAM_COUNTS];
};

void histogram_clear(struct histogram *h);

/* The lowest value that has this index. */
uint64_t histogram_value_at(uint32_t index);

static inline uint32_t histogram_index(uint64_t value)
{
	uint32_t bits = 64u - (uint32_t)__builtin_clzll(value | ((1u << HISTOGRAM_SUB_BITS) - 1));
	uint32_t bucket = bits - HISTOGRAM_SUB_BITS;
	return (bucket << (HISTOGRAM_SUB_BITS - 1)) + (uint32_t)(value >> bucket);
}

/* Records value_ns; values above 60 s count at 60 s (max stays exact). */
static inline void histogram_record_many(struct histogram *h, uint64_t value_ns, uint64_t times)
{
	h->count += times;
	h->sum += value_ns * times;
	if (value_ns < h->min)
		h->min = value_ns;
	if (value_ns > h->max)
		h->max = value_ns;
	if (__builtin_expect(value_ns > HISTOGRAM_HIGHEST_NS, 0))
		value_ns = HISTOGRAM_HIGHEST_NS;
	h->counts[histogram_index(value_ns)] += times;
}

static inline void histogram_record(struct histogram *h, uint64_t value_ns)
{
	histogram_record_many(h, value_ns, 1);
}

#endif
