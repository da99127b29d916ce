/*
 * worst: the N largest of a stream, in a min-heap of fixed size. The fast path
 * is one compare with the threshold. Used for the slowest packets and the
 * longest gaps.
 */
#ifndef NINES_WORST_H
#define NINES_WORST_H

#include <stdint.h>

/* One of the slowest packets; stamps are ticks until the trial is reported. */
struct outlier {
	uint64_t latency_ns; /* the heap's key */
	uint64_t from_tx_ns, send_lag_ns, poll_gap_ns;
	uint64_t tx_ticks, rx_ticks;
	uint32_t id, rx_cpu;
	uint16_t stream;
};

struct worst {
	struct outlier *heap;
	uint32_t size, capacity;
	uint64_t threshold; /* a latency must be above this to get in */
};

/* capacity 0 keeps none. -ENOMEM. */
int worst_init(struct worst *w, uint32_t capacity);
void worst_free(struct worst *w);
void worst_insert(struct worst *w, const struct outlier *o);

/* Sorts the slowest first; the heap cannot be used afterwards. */
void worst_sort(struct worst *w);

static inline int worst_wants(const struct worst *w, uint64_t latency_ns)
{
	return latency_ns > w->threshold;
}

#endif
