/* The slow parts of the histogram; see histogram.h. */
#include "stats/histogram.h"

#include <string.h>

void histogram_clear(struct histogram *h)
{
	memset(h, 0, sizeof *h);
	h->min = UINT64_MAX;
}

uint64_t histogram_value_at(uint32_t index)
{
	if (index < 2 * HISTOGRAM_HALF)
		return index;
	uint32_t bucket = (index >> (HISTOGRAM_SUB_BITS - 1)) - 1;
	return (uint64_t)(index - bucket * HISTOGRAM_HALF) << bucket;
}
