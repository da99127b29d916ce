/*
 * eal: DPDK's environment layer, started by the command `dpdk`, once per process and until it ends.
 * Control thread, except eal_thread_begin.
 */
#ifndef NINES_EAL_H
#define NINES_EAL_H

#include "dpdk/eal_config.h"

enum { EAL_NOTES_MAX = 4, EAL_NOTE_BYTES = 160 };

struct eal_started {
	char version[64];
	char notes[EAL_NOTES_MAX][EAL_NOTE_BYTES];
	unsigned note_count;
};

/* 0, or -errno and what to do: -EALREADY, -ENOMEM with the numbers of huge pages, -ENODEV, -EACCES.
 * After a failure half-way it cannot be tried again: the engine must be restarted (-EALREADY says
 * so). */
int eal_start(const struct eal_config *config, struct eal_started *started, char *error,
	      size_t size);

/* Whether it has been started. */
bool eal_is_started(void);

/* NUMA node of its memory, and whether it uses huge pages. */
int eal_memory_node(void);
bool eal_memory_is_huge(void);

/* Registers the calling thread with DPDK until it ends, so that it gets a cache in each mempool.
 * Does nothing if DPDK is not started. */
void eal_thread_begin(void);

#endif
