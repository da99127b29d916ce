/* hugepages: counts a NUMA node's hugepages, for the error if there are too few. */
#ifndef NINES_HUGEPAGES_H
#define NINES_HUGEPAGES_H

#include <stdint.h>

struct hugepages {
	uint64_t page_bytes; /* of the default size; 0: the kernel has none */
	uint64_t total, free; /* of that size, on the node */
};

/* The hugepages of a NUMA node, or of the whole host if the kernel has no nodes. */
struct hugepages hugepages_of(int node);

#endif
