/*
 * gate: says when no thread is within a burst of DPDK's. memif's driver takes its
 * shared memory away in EAL's interrupt thread when the peer dies, and looks out for
 * nobody who is just writing there (memif_disconnect in memif_socket.c): here it waits
 * until they are out.
 *
 * Entering and leaving cost a store each; the one who waits pays, with membarrier(2).
 */
#ifndef NINES_GATE_H
#define NINES_GATE_H

#include <stdatomic.h>
#include <stdint.h>

enum { GATES = 64 }; /* at least RTE_MAX_ETHPORTS */

/* A switch may receive from a device in one thread and send to it in others, one at a
 * time. */
enum gate_way { GATE_RX, GATE_TX, GATE_WAYS };

struct gate {
	_Alignas(64) _Atomic uint32_t turns; /* odd: within a burst */
};

/* Each is used by one thread at a time: there is no atomic addition. */
extern struct gate gates[GATES][GATE_WAYS];

static inline void gate_enter(unsigned device, enum gate_way way)
{
	_Atomic uint32_t *turns = &gates[device][way].turns;
	atomic_store_explicit(turns, atomic_load_explicit(turns, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst); /* the processor's is gate_wait's */
}

static inline void gate_leave(unsigned device, enum gate_way way)
{
	_Atomic uint32_t *turns = &gates[device][way].turns;
	atomic_store_explicit(turns, atomic_load_explicit(turns, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* Once in a process, before gate_wait. 0 or -errno. */
int gate_init(void);

/* Until every burst that is under way is over. What was written before is seen by all
 * that come later. Not within a burst. */
void gate_wait(void);

#endif
