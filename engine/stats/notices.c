/* Announces packets; see notices.h. */
#include "stats/notices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int notices_new(struct notices **out, uint32_t capacity)
{
	size_t bytes = sizeof **out + (size_t)capacity * sizeof(struct notice);
	struct notices *n = aligned_alloc(64, bytes);
	if (!n)
		return -ENOMEM;
	memset(n, 0, bytes); /* this also faults it in */
	memcpy(n->magic, NOTICES_MAGIC, sizeof n->magic);
	n->version = NOTICES_VERSION;
	n->capacity = capacity;
	*out = n;
	return 0;
}

void notices_free(struct notices *n)
{
	free(n);
}

void notices_retire(struct notices *n)
{
	static struct notices *last;

	if (!n)
		return;
	free(last);
	last = n;
}

/* The scale from a trial's start would be off by milliseconds after an hour. So this reads both
 * clocks, which the kernel's vDSO does without a system call. */
static uint64_t monotonic_of(uint64_t ticks, const struct clock_scale *scale)
{
	uint64_t ns = clock_monotonic_ns(), now = clock_ticks();
	return now > ticks ? ns - clock_ticks_to_ns(scale, now - ticks) : ns;
}

void notices_put(struct notices *n, const struct outlier *o, uint32_t place,
		 const struct clock_scale *scale)
{
	uint64_t at = atomic_load_explicit(&n->head, memory_order_relaxed);
	struct notice *notice = &n->ring[at % n->capacity];
	atomic_store_explicit(&notice->sequence, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	notice->intended_ns = monotonic_of(o->rx_ticks, scale) - o->latency_ns;
	notice->latency_ns = o->latency_ns;
	notice->from_tx_ns = o->from_tx_ns;
	notice->poll_gap_ns = o->poll_gap_ns;
	notice->id = o->id;
	notice->rx_cpu = o->rx_cpu;
	notice->place = place;
	notice->stream = o->stream;
	atomic_store_explicit(&notice->sequence, at + 1, memory_order_release);
	atomic_store_explicit(&n->head, at + 1, memory_order_release);
}
