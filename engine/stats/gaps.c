/* The gap meter's slow parts; see gaps.h. */
#include "stats/gaps.h"

#include <stdlib.h>
#include <string.h>

void gaps_init(struct gaps *g, uint64_t floor_ticks)
{
	memset(g, 0, sizeof *g);
	g->floor_ticks = floor_ticks;
	for (int i = 0; i < GAPS_KINDS; i++) {
		g->shortest[i] = i < GAPS_AWAKE ? UINT64_MAX : 0;
		g->threshold[i] = UINT64_MAX;
	}
}

static void set_threshold(struct gaps *g, unsigned kind, uint64_t usual_ticks)
{
	uint64_t threshold = usual_ticks * GAPS_FACTOR;
	g->threshold[kind] = threshold > g->floor_ticks ? threshold : g->floor_ticks;
}

void gaps_learn(struct gaps *g, unsigned kind, uint64_t ticks)
{
	if (g->turns[kind] < GAPS_LEARN_TURNS)
		g->turns[kind]++;
	if (kind >= GAPS_AWAKE) {
		g->learnt_ticks[kind - GAPS_AWAKE] += ticks;
		set_threshold(g, kind, g->learnt_ticks[kind - GAPS_AWAKE] / g->turns[kind]);
		return;
	}
	if (ticks >= g->shortest[kind])
		return;
	g->shortest[kind] = ticks;
	set_threshold(g, kind, ticks);
}

void gaps_add(struct gaps *g, uint64_t at_ticks, uint64_t length_ticks)
{
	g->count++;
	g->total_ticks += length_ticks;
	if (length_ticks > g->max_ticks)
		g->max_ticks = length_ticks;
	if (g->kept == GAPS_KEPT && length_ticks <= g->worst[0].length_ticks)
		return;
	uint32_t at;
	if (g->kept < GAPS_KEPT) {
		at = g->kept++;
		while (at > 0 && g->worst[(at - 1) / 2].length_ticks > length_ticks) {
			g->worst[at] = g->worst[(at - 1) / 2];
			at = (at - 1) / 2;
		}
	} else {
		at = 0;
		for (;;) {
			uint32_t child = 2 * at + 1;
			if (child >= GAPS_KEPT)
				break;
			if (child + 1 < GAPS_KEPT &&
			    g->worst[child + 1].length_ticks < g->worst[child].length_ticks)
				child++;
			if (g->worst[child].length_ticks >= length_ticks)
				break;
			g->worst[at] = g->worst[child];
			at = child;
		}
	}
	g->worst[at] = (struct gap){at_ticks, length_ticks};
}

uint64_t gaps_threshold(const struct gaps *g)
{
	/* Empty turns are the best reference; without them, use the next kind that has been
	 * learnt. */
	for (int i = 0; i < GAPS_KINDS; i++)
		if (g->turns[i] >= GAPS_LEARN_TURNS)
			return g->threshold[i];
	return g->floor_ticks;
}

static int longest_first(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;
	return (x->length_ticks < y->length_ticks) - (x->length_ticks > y->length_ticks);
}

void gaps_sort(struct gaps *g)
{
	qsort(g->worst, g->kept, sizeof g->worst[0], longest_first);
}
