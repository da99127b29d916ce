/* The reservoir; see sample.h. */
#include "stats/sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int sample_init(struct sample *s, uint32_t capacity, uint64_t seed)
{
	memset(s, 0, sizeof *s);
	s->capacity = capacity;
	s->next = capacity ? 0 : UINT64_MAX;
	s->random = seed;
	s->weight = 1;
	if (capacity == 0)
		return 0;
	s->kept = calloc(capacity, sizeof *s->kept);
	if (!s->kept)
		return -ENOMEM;
	memset(s->kept, 0, capacity * sizeof *s->kept); /* this faults it in */
	return 0;
}

void sample_free(struct sample *s)
{
	free(s->kept);
	s->kept = NULL;
}

/* splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t draw(struct sample *s)
{
	uint64_t z = s->random += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Uniform in (0, 1). */
static double chance(struct sample *s)
{
	return ((double)(draw(s) >> 11) + 0.5) / (double)(UINT64_C(1) << 53);
}

/* How many packets to skip, once all places are taken. */
static uint64_t skip(struct sample *s)
{
	s->weight *= exp(log(chance(s)) / s->capacity);
	double passed = floor(log(chance(s)) / log1p(-s->weight));
	return passed < 1e18 ? (uint64_t)passed : UINT64_C(1000000000000000000);
}

uint32_t sample_keep(struct sample *s, const struct outlier *o)
{
	uint32_t place = s->size;
	if (s->size < s->capacity)
		s->size++;
	else
		place = (uint32_t)(draw(s) % s->capacity);
	s->kept[place] = *o;
	s->next++;
	if (s->size == s->capacity)
		s->next += skip(s);
	return place;
}
