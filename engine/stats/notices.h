/*
 * notices: a ring in which a measuring thread announces packets that are among the slowest so far,
 * or were picked at random, so that a recorder of kernel events can keep the events around them.
 * Another process reads the ring by process_vm_readv: the thread writes 64 bytes and makes no
 * system call. Notices that are not read in time are overwritten.
 *
 * The reader reads `head`, then the entries since its last read. An entry whose `sequence` is not
 * its place plus one has been overwritten, or is being overwritten.
 */
#ifndef NINES_NOTICES_H
#define NINES_NOTICES_H

#include "clock/clock.h"
#include "stats/worst.h"

#include <stdatomic.h>

#define NOTICES_MAGIC "NINESNOT"

enum { NOTICES_VERSION = 1, NOTICES_MAX = 1 << 20 };

/* The `place` in a notice of one of the slowest packets. */
#define NOTICE_SLOWEST UINT32_MAX

struct notice {
	_Atomic uint64_t sequence;
	uint64_t intended_ns; /* CLOCK_MONOTONIC */
	uint64_t latency_ns, from_tx_ns, poll_gap_ns;
	uint32_t id, rx_cpu;
	uint32_t place; /* of the sample; or NOTICE_SLOWEST */
	uint32_t stream;
	uint64_t reserved;
};

struct notices {
	char magic[8];
	uint32_t version, capacity;
	_Atomic uint64_t head; /* notices written so far */
	uint64_t reserved[5];
	struct notice ring[];
};

_Static_assert(sizeof(struct notice) == 64, "read by measure/trace");
_Static_assert(sizeof(struct notices) == 64, "read by measure/trace");

/* Allocates room for `capacity` notices; -ENOMEM. */
int notices_new(struct notices **out, uint32_t capacity);
void notices_free(struct notices *n);

/* Call when a trial is over. Frees the notices when the next trial is over, and keeps them until
 * then, so that a slow reader misses none from the trial's end. One thread only. */
void notices_retire(struct notices *n);

/* Called by the measuring thread, for a packet that it has received. */
void notices_put(struct notices *n, const struct outlier *o, uint32_t place,
		 const struct clock_scale *scale);

#endif
