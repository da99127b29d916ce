/*
 * pool: a device's buffers. Control thread.
 */
#ifndef NINES_POOL_H
#define NINES_POOL_H

#include <rte_mempool.h>
#include <stdbool.h>

/* What a pool is made of. */
struct pool_config {
	char name[RTE_MEMPOOL_NAMESIZE];
	unsigned count; /* of buffers */
	unsigned room; /* of each, for the headroom and a frame */
	/* The buffers lie back to back in one piece, across the borders of pages. net_af_xdp
	 * needs it: its umem is as long as all buffers are together, whatever lies between
	 * them, and of what is beyond the kernel takes nothing and says nothing
	 * (xdp_umem_configure in rte_eth_af_xdp.c). In ordinary pages of 4 KiB it saves
	 * almost half, as a page else holds one buffer. What is in one piece for the process
	 * is so for a device only in virtual addresses: in ordinary memory EAL uses no others,
	 * whatever it is told, and where it uses others net_af_xdp is refused (device.c). */
	bool in_one_piece;
};

enum { POOL_CACHE = 256 }; /* of each thread; a burst is 64 */

/* NULL: there is not so much memory. It is freed by rte_mempool_free. */
struct rte_mempool *pool_make(const struct pool_config *config);

#endif
