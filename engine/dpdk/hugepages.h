/* hugepages: how many a memory node has, to say it where there are too few. */
#ifndef NINES_HUGEPAGES_H
#define NINES_HUGEPAGES_H

#include <stdint.h>

struct hugepages {
	uint64_t page_bytes; /* of the default size; 0: the kernel has none */
	uint64_t total, free; /* of that size, on the node */
};

/* Of a NUMA node; of the whole host where the kernel knows no nodes. */
struct hugepages hugepages_of(int node);

#endif
