// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The format that the programs write and package witness reads.
 */
#ifndef NINES_WITNESS_H
#define NINES_WITNESS_H

#include <linux/types.h>

enum {
	THREADS_MAX = 8192,
	WITNESSES_MAX = 1024,
	CPUS_MAX = 4096,
	/* Nothing shorter is an interruption. */
	FLOOR_NS = 1000,
	/* As in engine/stats/gaps.h. */
	FACTOR = 8,
	FACTOR_LONG = 2,
	LEARN_TIMES = 200,
};

enum kind {
	KIND_WAKE = 1, /* from its wake-up until it ran */
	KIND_PREEMPTED, /* it was runnable, and its CPU ran something else */
	KIND_STOPPED, /* by a signal */
	KIND_SOFTIRQ, /* from its raise until it began */
	KIND_TICK, /* from when a timer of the CPU was due until it rang */
};

struct row {
	__u64 begin;
	__u64 length; /* ns; written last, 0 before */
	__u32 witness; /* as in threads and cpus */
	__u16 kind;
	__u16 cpu;
};

struct total {
	__u64 count; /* of rows, also of those without room */
};

/* How long something of a witness takes that is no interruption. */
struct usual {
	__u64 sum, count; /* of the first times */
	__u64 unlisted; /* ns beyond the mean of what took longer than usual, and is not listed */
	__u64 overflow; /* rows without room */
};

enum state { RUNNING, PREEMPTED, STOPPED, ASLEEP, WOKEN };

struct thread {
	__u64 since; /* when it came into its state */
	__u32 state;
	__u32 witness; /* WITNESSES_MAX or more: none, it tells of itself */
	__u32 forks; /* 1: its children are watched */
	__u32 unused;
};

struct cpu {
	__u64 raised[2]; /* when; 0: not */
	__u64 ticked; /* the last time; 0: never */
	__u64 others; /* when a thread that is not known last left it; 0: never */
	__u32 witness, watched; /* of softirqs; 1: watched */
	__u32 ticks; /* the witness of ticks */
	__u32 period; /* ns from one tick to the next */
};

_Static_assert(sizeof(struct row) == 24, "read by Go");
_Static_assert(sizeof(struct usual) == 32, "read by Go");
_Static_assert(sizeof(struct thread) == 24, "written by Go");
_Static_assert(sizeof(struct cpu) == 48, "written by Go");

#endif
