/* Makes pools of buffers; see pool.h. */
#include "dpdk/pool.h"

#include "dpdk/eal.h"

#include <errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_memzone.h>
#include <stdint.h>

static void free_zone(struct rte_mempool_memhdr *unused, void *zone)
{
	(void)unused;
	rte_memzone_free(zone);
}

/* Fills a pool from one zone, where every address is its own IOVA. */
static int populate(struct rte_mempool *pool)
{
	size_t least, align;
	ssize_t bytes = rte_mempool_op_calc_mem_size_default(pool, pool->size, 0, &least, &align);
	if (bytes < 0)
		return (int)bytes;
	const struct rte_memzone *zone = rte_memzone_reserve_aligned(
		pool->name, (size_t)bytes, eal_memory_node(), 0, (unsigned)align);
	if (!zone)
		return -ENOMEM;
	int n = rte_mempool_populate_iova(pool, zone->addr, zone->iova, zone->len, free_zone,
					  (void *)(uintptr_t)zone);
	if (n <= 0)
		rte_memzone_free(zone);
	return n == (int)pool->size ? 0 : -ENOMEM;
}

/* Does what rte_pktmbuf_pool_create does, but sets the flag: without it no buffer may cross a page
 * border (rte_mempool_op_populate_helper). */
static struct rte_mempool *make_in_one_piece(const struct pool_config *c)
{
	struct rte_pktmbuf_pool_private private = {.mbuf_data_room_size = (uint16_t)c->room};
	struct rte_mempool *pool = rte_mempool_create_empty(
		c->name, c->count, (unsigned)sizeof(struct rte_mbuf) + c->room, POOL_CACHE,
		sizeof private, eal_memory_node(), RTE_MEMPOOL_F_NO_IOVA_CONTIG);
	if (!pool)
		return NULL;
	rte_pktmbuf_pool_init(pool, &private);
	if (rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL) != 0 ||
	    populate(pool) != 0) {
		rte_mempool_free(pool);
		return NULL;
	}
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

struct rte_mempool *pool_make(const struct pool_config *c)
{
	if (c->in_one_piece)
		return make_in_one_piece(c);
	return rte_pktmbuf_pool_create(c->name, c->count, POOL_CACHE, 0, (uint16_t)c->room,
				       eal_memory_node());
}
