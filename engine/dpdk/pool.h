/*
 * pool: a device's buffers. Control thread.
 */
#ifndef NINES_POOL_H
#define NINES_POOL_H

#include <rte_mempool.h>
#include <stdbool.h>

/* The settings of a pool. */
struct pool_config {
	char name[RTE_MEMPOOL_NAMESIZE];
	unsigned count; /* of buffers */
	unsigned room; /* of each, for the headroom and a frame, in bytes */
	/* The buffers are contiguous, across page borders. net_af_xdp needs this:
	 * its umem is as long as all buffers together, without the gaps between them, and the
	 * kernel silently ignores buffers beyond its end (xdp_umem_configure in rte_eth_af_xdp.c).
	 * With ordinary pages of 4 KiB it also saves almost half of the memory, because otherwise a
	 * page holds one buffer. For a device, memory is contiguous only in virtual addresses:
	 * with ordinary memory EAL always uses these, and where it uses physical ones, net_af_xdp
	 * is refused (device.c). */
	bool in_one_piece;
};

enum { POOL_CACHE = 256 }; /* of each thread; a burst is 64 */

/* NULL: out of memory. Free it with rte_mempool_free. */
struct rte_mempool *pool_make(const struct pool_config *config);

#endif
