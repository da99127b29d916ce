/*
 * notices: a ring in which a measuring thread says that a packet is among the slowest so
 * far, or was picked at random, so that who records what the kernel does can keep what
 * happened around it. It is read from another process, by process_vm_readv: the thread
 * writes 64 bytes and makes no system call. What is not read in time is overwritten.
 *
 * The reader: head; entries from where it was; an entry whose `sequence` is not its place
 * plus one has been overwritten, or is being so.
 */
#ifndef NINES_NOTICES_H
#define NINES_NOTICES_H

#include "clock/clock.h"
#include "stats/worst.h"

#include <stdatomic.h>

#define NOTICES_MAGIC "NINESNOT"

enum { NOTICES_VERSION = 1, NOTICES_MAX = 1 << 20 };

/* The place of a notice that a packet is one of the slowest. */
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
	_Atomic uint64_t head; /* how many there have been */
	uint64_t reserved[5];
	struct notice ring[];
};

_Static_assert(sizeof(struct notice) == 64, "read by measure/trace");
_Static_assert(sizeof(struct notices) == 64, "read by measure/trace");

/* With room for so many; -ENOMEM. */
int notices_new(struct notices **out, uint32_t capacity);
void notices_free(struct notices *n);

/* Of a trial that is over: frees it when the next one is, and keeps it until then, so that
 * a reader that looks now and then misses nothing of the trial's end. By one thread. */
void notices_retire(struct notices *n);

/* By the measuring thread, of a packet that it has received. */
void notices_put(struct notices *n, const struct outlier *o, uint32_t place,
		 const struct clock_scale *scale);

#endif
