/* The slow parts of the blocks; see blocks.h. */
#include "stats/blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int blocks_init(struct blocks *b, uint64_t duration_ns)
{
	uint64_t most = duration_ns / BLOCK_LEAST_NS;
	memset(b, 0, sizeof *b);
	b->count = most < 1 ? 1 : most > BLOCKS_MAX ? BLOCKS_MAX : (uint32_t)most;
	b->list = malloc(b->count * sizeof *b->list);
	if (!b->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->count; i++)
		histogram_clear(&b->list[i]); /* this also faults it in */
	b->now = b->list;
	b->end_ticks = UINT64_MAX;
	return 0;
}

void blocks_begin(struct blocks *b, uint64_t begin_ticks, uint64_t end_ticks)
{
	uint64_t length = (end_ticks - begin_ticks) / b->count;
	b->begin_ticks = begin_ticks;
	b->length_ticks = length ? length : 1;
	blocks_turn(b, begin_ticks);
}

uint32_t blocks_begun(const struct blocks *b, uint64_t ticks)
{
	if (ticks < b->begin_ticks)
		return 0;
	uint64_t past = (ticks - b->begin_ticks) / b->length_ticks;
	return past < b->count ? (uint32_t)past + 1 : b->count;
}

void blocks_turn(struct blocks *b, uint64_t ticks)
{
	uint32_t begun = blocks_begun(b, ticks);
	uint32_t at = begun ? begun - 1 : 0;
	b->now = &b->list[at];
	b->end_ticks = at + 1 < b->count ? b->begin_ticks + (at + 1) * b->length_ticks : UINT64_MAX;
}

void blocks_shift(struct blocks *b, uint64_t ticks)
{
	b->begin_ticks += ticks;
	if (b->end_ticks != UINT64_MAX)
		b->end_ticks += ticks;
}

static void add(struct histogram *sum, const struct histogram *h)
{
	sum->count += h->count;
	sum->sum += h->sum;
	if (h->min < sum->min)
		sum->min = h->min;
	if (h->max > sum->max)
		sum->max = h->max;
	for (uint32_t j = 0; h->count && j < HISTOGRAM_COUNTS; j++)
		sum->counts[j] += h->counts[j];
}

void blocks_cut(struct blocks *b, uint64_t ticks)
{
	uint32_t begun = blocks_begun(b, ticks), count = begun ? begun : 1;
	for (uint32_t i = count; i < b->count; i++) /* packets that came since */
		add(&b->list[count - 1], &b->list[i]);
	b->count = count;
	blocks_turn(b, ticks);
}

void blocks_sum(const struct blocks *b, struct histogram *sum)
{
	histogram_clear(sum);
	for (uint32_t i = 0; i < b->count; i++)
		add(sum, &b->list[i]);
}

void blocks_free(struct blocks *b)
{
	free(b->list);
	b->list = b->now = NULL;
}
