/* The gap meter's slow parts; see gaps.h. */
#include "stats/gaps.h"

#include "stats/interruptions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gaps_init(struct gaps *g, uint64_t floor_ticks)
{
	memset(g, 0, sizeof *g);
	g->floor_ticks = floor_ticks;
	g->idle_then = UINT64_MAX;
	for (int i = 0; i < GAPS_KINDS; i++) {
		g->shortest[i] = i < GAPS_AWAKE ? UINT64_MAX : 0;
		g->threshold[i] = g->longish[i] = UINT64_MAX;
	}
}

uint64_t gaps_usual(const struct gaps *g, unsigned kind)
{
	if (g->turns[kind] == 0)
		return 0;
	return kind < GAPS_AWAKE ? g->shortest[kind]
				 : g->learnt_ticks[kind - GAPS_AWAKE] / g->turns[kind];
}

/* The time of one packet, by turns of fewer than this kind's that are otherwise alike; 0: there were
 * none. */
static uint64_t each(const struct gaps *g, unsigned kind)
{
	unsigned size = kind % GAPS_SIZES, none = kind - size;
	for (unsigned smaller = 1; smaller < size && smaller <= 2; smaller++)
		if (g->turns[none + smaller] >= GAPS_LEARN_TURNS)
			return gaps_usual(g, none + smaller) / smaller;
	return 0;
}

static uint64_t at_least(uint64_t ticks, uint64_t floor)
{
	return ticks > floor ? ticks : floor;
}

/* What a turn of this many packets takes at most without a gap. */
static uint64_t limit(const struct gaps *g, unsigned kind, unsigned packets)
{
	uint64_t one = each(g, kind), all = GAPS_FACTOR_EACH * packets * one;
	if (one == 0 || all >= g->threshold[kind])
		return g->threshold[kind];
	return at_least(all, g->floor_ticks);
}

/* From which length on a turn is listed: from half of a gap on, as what is too short to be listed leaves
 * percentiles open. */
static uint64_t listed_from(const struct gaps *g, unsigned kind, unsigned packets)
{
	uint64_t whole = limit(g, kind, packets);
	return whole == UINT64_MAX ? whole : at_least(whole / GAPS_LISTED_PART, g->floor_ticks);
}

uint64_t gaps_listed_from(const struct gaps *g, unsigned kind)
{
	return listed_from(g, kind, (1u << kind % GAPS_SIZES) - 1);
}

static void set_longish(struct gaps *g, unsigned kind)
{
	uint64_t least_packets = UINT64_C(1) << kind % GAPS_SIZES >> 1;
	uint64_t one = each(g, kind), all = one * least_packets, own = gaps_usual(g, kind);
	g->longish[kind] = GAPS_FACTOR_LONG * (one > 0 && all < own ? all : own);
}

static void set_thresholds(struct gaps *g, unsigned kind)
{
	unsigned end = kind - kind % GAPS_SIZES + GAPS_SIZES;
	g->threshold[kind] = at_least(gaps_usual(g, kind) * GAPS_FACTOR, g->floor_ticks);
	/* Larger turns are compared with this one. */
	for (unsigned larger = kind; larger < end; larger++)
		if (g->turns[larger] >= GAPS_LEARN_TURNS)
			set_longish(g, larger);
}

static uint64_t idle_ticks(const struct gaps *g)
{
	return g->spent_ticks[0] + g->spent_ticks[GAPS_AWAKE];
}

static void list(struct gaps *g, unsigned kind, uint64_t ticks)
{
	struct interruptions *l = atomic_load_explicit(&g->list, memory_order_acquire);
	if (l)
		interruptions_add(l, kind, g->last_ticks, ticks);
	g->spent_ticks[kind] -= ticks;
	g->idle_then = idle_ticks(g);
}

/* Until the loop has nothing to do again, it makes up for the interruption before. */
static bool catches_up(const struct gaps *g, unsigned kind, uint64_t ticks)
{
	uint64_t before = idle_ticks(g) - (kind % GAPS_AWAKE == 0 ? ticks : 0);
	return before == g->idle_then;
}

/* What is hidden in a turn is no longer than what it took beyond the usual. */
static void leave_out(struct gaps *g, unsigned kind, uint64_t ticks)
{
	struct interruptions *l = atomic_load_explicit(&g->list, memory_order_acquire);
	if (!l || catches_up(g, kind, ticks))
		return;
	interruptions_leave_out(l, kind, ticks - gaps_usual(g, kind));
}

/* A turn of a kind that is not known well enough to call it a gap is listed as one nevertheless. */
void gaps_learn(struct gaps *g, unsigned kind, unsigned packets, uint64_t ticks)
{
	if (ticks > listed_from(g, kind, packets))
		list(g, kind, ticks);
	else if (g->turns[kind] > 0 && ticks > GAPS_FACTOR_LONG * gaps_usual(g, kind))
		leave_out(g, kind, ticks);
	if (g->turns[kind] < GAPS_LEARN_TURNS)
		g->turns[kind]++;
	if (kind >= GAPS_AWAKE)
		g->learnt_ticks[kind - GAPS_AWAKE] += ticks;
	else if (ticks < g->shortest[kind])
		g->shortest[kind] = ticks;
	else if (g->turns[kind] < GAPS_LEARN_TURNS)
		return;
	set_thresholds(g, kind);
}

void gaps_long(struct gaps *g, unsigned kind, unsigned packets, uint64_t ticks)
{
	if (ticks > limit(g, kind, packets))
		gaps_add(g, g->last_ticks, ticks);
	if (ticks > listed_from(g, kind, packets))
		list(g, kind, ticks);
	else
		leave_out(g, kind, ticks);
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

void gaps_kind(unsigned kind, char *text, size_t size)
{
	unsigned packets = kind % GAPS_SIZES, least = 1u << packets >> 1;
	char count[16];
	if (packets < 2)
		snprintf(count, sizeof count, "%u", packets);
	else if (packets < GAPS_SIZES - 1)
		snprintf(count, sizeof count, "%u-%u", least, 2 * least - 1);
	else
		snprintf(count, sizeof count, "%u+", least);
	snprintf(text, size, "turn %s%s%s", count, kind % GAPS_AWAKE >= GAPS_SIZES ? " sent" : "",
		 kind >= GAPS_AWAKE ? " after sleep" : "");
}
