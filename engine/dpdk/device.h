/*
 * device: opens an Ethernet device of DPDK, from its text to started queues, and closes it. Control
 * thread.
 */
#ifndef NINES_DEVICE_H
#define NINES_DEVICE_H

#include "dpdk/device_text.h"

#include <rte_mempool.h>
#include <stdint.h>

/* Drivers that need special treatment. */
enum device_kind { DEVICE_OTHER, DEVICE_MEMIF, DEVICE_AF_PACKET, DEVICE_AF_XDP };

struct device {
	struct device_text text;
	uint16_t id; /* rte_ethdev's port */
	struct rte_mempool *rx_pool; /* receive buffers */
	struct rte_mempool *tx_pool; /* the sender's own; nothing else writes into it */
	uint16_t rx_slots, tx_slots; /* of its queues */
	int node; /* NUMA node of the device; -1: none */
	enum device_kind kind;
	bool promiscuous;
	/* Becomes readable when packets have come, if device_wake_ask was called before. -1: the
	 * device was opened without. */
	int wake_fd;
	uint64_t started_ns; /* CLOCK_MONOTONIC */
	bool was_up; /* connected at some time since then */
	char driver[32];
};

/* Opens and starts it with one queue in each direction and buffers for frames of
 * frame_bytes with FCS. `wakes`: with receive interrupts, which few drivers have. -errno with a
 * message; nothing is left open then. */
int device_open(struct device *device, const char *text, uint32_t frame_bytes, bool wakes,
		char *error, size_t size);

void device_close(struct device *device);

/* Lets memif's client connect again, which its driver does only at start. No other thread may use
 * the device meanwhile. */
void device_reconnect(struct device *device);

/* Whether its peer is connected, or its cable. */
bool device_is_up(struct device *device);

/* Asks for an interrupt on wake_fd when the next packet comes. One that has come already has none,
 * so receive before the sleep. Both by the thread that receives. */
void device_wake_ask(struct device *device);
void device_wake_end(struct device *device);

#endif
