/* Wraps memif's memif_free_regions (the linker's --wrap). The driver has just told future bursts
 * that the peer is gone, and now frees memory that current bursts may be writing to. Static
 * programs only. */
#include "dpdk/gate.h"

struct rte_eth_dev;

void __real_memif_free_regions(struct rte_eth_dev *device);
void __wrap_memif_free_regions(struct rte_eth_dev *device);

void __wrap_memif_free_regions(struct rte_eth_dev *device)
{
	gate_wait();
	__real_memif_free_regions(device);
}
