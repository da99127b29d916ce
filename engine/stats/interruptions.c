/* The list of interruptions; see interruptions.h. */
#include "stats/interruptions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t interruptions_room(uint64_t ns)
{
	uint64_t room = (ns / 1000000000u + 1) * INTERRUPTIONS_PER_SECOND;
	if (room < INTERRUPTIONS_MIN)
		return INTERRUPTIONS_MIN;
	return room < INTERRUPTIONS_MAX ? (uint32_t)room : INTERRUPTIONS_MAX;
}

int interruptions_new(struct interruptions **out, uint32_t room)
{
	size_t bytes = sizeof **out + (size_t)room * sizeof(struct interruption);
	struct interruptions *l = malloc(bytes);
	if (!l)
		return -ENOMEM;
	memset(l, 0, bytes); /* this also faults it in */
	l->room = room;
	*out = l;
	return 0;
}

void interruptions_free(struct interruptions *l)
{
	free(l);
}

void interruptions_begin(struct interruptions *l, struct gaps *g)
{
	l->begin = clock_read_point();
	memcpy(l->spent_before, g->spent_ticks, sizeof l->spent_before);
	atomic_store_explicit(&g->list, l, memory_order_release);
}

void interruptions_leave_out(struct interruptions *l, unsigned kind, uint64_t ticks)
{
	struct unlisted *u = &l->unlisted[kind];
	unsigned digit = 63u - (unsigned)__builtin_clzll(ticks | 1);
	u->count++;
	u->ticks += ticks;
	u->of_digits[digit < INTERRUPTIONS_DIGITS ? digit : INTERRUPTIONS_DIGITS - 1] += ticks;
}

void interruptions_add(struct interruptions *l, unsigned kind, uint64_t at_ticks,
		       uint64_t length_ticks)
{
	uint32_t count = atomic_load_explicit(&l->count, memory_order_relaxed);
	if (count == l->room) {
		l->overflow++;
		return;
	}
	l->list[count] = (struct interruption){
		.at_ticks = at_ticks, .length_ticks = length_ticks, .kind = (uint8_t)kind};
	atomic_store_explicit(&l->count, count + 1, memory_order_release);
}
