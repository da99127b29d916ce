/*
 * gate: waits until no thread is within a DPDK burst. When its peer dies, memif's driver unmaps the
 * shared memory in EAL's interrupt thread, without regard for threads that are writing there
 * (memif_disconnect in memif_socket.c). The gate makes it wait until they have left.
 *
 * Entering and leaving cost one store each; the waiting thread pays for the barrier, with
 * membarrier(2).
 */
#ifndef NINES_GATE_H
#define NINES_GATE_H

#include <stdatomic.h>
#include <stdint.h>

enum { GATES = 64 }; /* at least RTE_MAX_ETHPORTS */

/* A switch may receive from a device in one thread and send to it in others, one thread at a
 * time. */
enum gate_way { GATE_RX, GATE_TX, GATE_WAYS };

struct gate {
	_Alignas(64) _Atomic uint32_t turns; /* odd: within a burst */
};

/* One thread at a time uses each gate, so no atomic addition is needed. */
extern struct gate gates[GATES][GATE_WAYS];

static inline void gate_enter(unsigned device, enum gate_way way)
{
	_Atomic uint32_t *turns = &gates[device][way].turns;
	atomic_store_explicit(turns, atomic_load_explicit(turns, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst); /* gate_wait makes the one for the CPU */
}

static inline void gate_leave(unsigned device, enum gate_way way)
{
	_Atomic uint32_t *turns = &gates[device][way].turns;
	atomic_store_explicit(turns, atomic_load_explicit(turns, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* Call once per process, before gate_wait. 0 or -errno. */
int gate_init(void);

/* Waits until all current bursts are over. Later bursts see everything written before. Do not call
 * within a burst. */
void gate_wait(void);

#endif
