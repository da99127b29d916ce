/* Stands before memif's memif_free_regions (the linker's --wrap): its driver has just
 * said to all bursts to come that the peer is gone, and now frees what those under way
 * may be writing to. Static programs only. */
#include "dpdk/gate.h"

struct rte_eth_dev;

void __real_memif_free_regions(struct rte_eth_dev *device);
void __wrap_memif_free_regions(struct rte_eth_dev *device);

void __wrap_memif_free_regions(struct rte_eth_dev *device)
{
	gate_wait();
	__real_memif_free_regions(device);
}
