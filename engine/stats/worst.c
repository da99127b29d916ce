/* The heap of the slowest packets; see worst.h. */
#include "stats/worst.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int worst_init(struct worst *w, uint32_t capacity)
{
	memset(w, 0, sizeof *w);
	w->capacity = capacity;
	if (capacity == 0) {
		w->threshold = UINT64_MAX;
		return 0;
	}
	w->heap = calloc(capacity, sizeof *w->heap);
	return w->heap ? 0 : -ENOMEM;
}

void worst_free(struct worst *w)
{
	free(w->heap);
	w->heap = NULL;
}

static void sift_down(struct outlier *heap, uint32_t size, uint32_t at)
{
	struct outlier moved = heap[at];
	for (;;) {
		uint32_t child = 2 * at + 1;
		if (child >= size)
			break;
		if (child + 1 < size && heap[child + 1].latency_ns < heap[child].latency_ns)
			child++;
		if (heap[child].latency_ns >= moved.latency_ns)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

void worst_insert(struct worst *w, const struct outlier *o)
{
	if (w->size < w->capacity) {
		uint32_t at = w->size++;
		while (at > 0 && w->heap[(at - 1) / 2].latency_ns > o->latency_ns) {
			w->heap[at] = w->heap[(at - 1) / 2];
			at = (at - 1) / 2;
		}
		w->heap[at] = *o;
	} else {
		w->heap[0] = *o;
		sift_down(w->heap, w->size, 0);
	}
	if (w->size == w->capacity)
		w->threshold = w->heap[0].latency_ns;
}

static int slowest_first(const void *a, const void *b)
{
	const struct outlier *x = a, *y = b;
	if (x->latency_ns != y->latency_ns)
		return x->latency_ns < y->latency_ns ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

void worst_sort(struct worst *w)
{
	if (w->size)
		qsort(w->heap, w->size, sizeof *w->heap, slowest_first);
}
