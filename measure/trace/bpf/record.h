// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The form of what the programs write and measure/trace/record.go reads.
 */
#ifndef NINES_TRACE_RECORD_H
#define NINES_TRACE_RECORD_H

#include <linux/types.h>

/* What a and b are is beside each kind. */
enum kind {
	/* The thread that goes, the thread that comes; `part`: of the one that goes, why, as
	 * ps has it, and above that its real-time priority. */
	KIND_SWITCH = 1,
	KIND_WAKING, /* the thread, the CPU where it was last */
	KIND_WAKEUP, /* a new thread, the CPU that it is to run on */
	KIND_IRQ_ENTRY, /* the interrupt's number */
	KIND_IRQ_EXIT,
	KIND_SOFTIRQ_ENTRY, /* the vector */
	KIND_SOFTIRQ_EXIT,
	KIND_VECTOR_ENTRY, /* enum vector */
	KIND_VECTOR_EXIT,
	KIND_IPI_CPU, /* the CPU, the callback */
	KIND_IPI_MASK, /* CPUs, the callback; `part`: they count from 64 times this */
	KIND_CSD, /* the CPU, the function */
	KIND_TLB_FLUSH, /* the reason, pages */
	KIND_TIMER_ENTRY, /* the timer, its function */
	KIND_TIMER_EXIT, /* the timer */
	KIND_HRTIMER_ENTRY,
	KIND_HRTIMER_EXIT,
	KIND_WORK_ENTRY,
	KIND_WORK_EXIT,
	KIND_IDLE, /* the state, or -1 when it ends */
	KIND_POLL, /* the device, packets */
	KIND_DROP, /* the reason */
	KIND_STAGE, /* the packet's id, the device; `part`: enum stage */
	KINDS,
};

/* The vectors of arch/x86/include/asm/trace/irq_vectors.h. */
enum vector {
	VECTOR_LOCAL_TIMER,
	VECTOR_RESCHEDULE,
	VECTOR_CALL_FUNCTION,
	VECTOR_CALL_FUNCTION_SINGLE,
	VECTOR_IRQ_WORK,
	VECTOR_SPURIOUS,
	VECTOR_ERROR,
	VECTOR_PLATFORM,
	VECTOR_THERMAL,
	VECTOR_THRESHOLD,
	VECTOR_DEFERRED_ERROR,
};

enum { FLAG_RUNNABLE = 1 }; /* KIND_SWITCH: the thread that goes could have gone on */

struct record {
	__u64 ns; /* CLOCK_MONOTONIC */
	/* The low half of how many came before on this CPU, plus one; written last. Anything
	 * else is a record that is being written. */
	__u32 sequence;
	__u8 kind, flags;
	__u16 part;
	__u64 a, b;
};

/* A CPU's part of the records, and how many it has written. A line of the cache each. */
struct cpu {
	__u64 head;
	__u32 first, mask; /* its records; mask is their number less one */
	__u32 kinds; /* a bit for each that it records; 0: none */
	__u32 running; /* the thread, since when */
	__u64 since;
	__u64 reserved[4];
};

/* Names that do not fit into a record, found by what does. */
struct thread {
	__u32 tid;
	char name[16];
	__u32 reserved;
};
struct device {
	__u64 id;
	char name[16];
};

enum { THREADS = 16384, DEVICES = 256, CPUS_MAX = 4096 };

_Static_assert(sizeof(struct record) == 32, "read by Go");
_Static_assert(sizeof(struct cpu) == 64, "read by Go");
_Static_assert(sizeof(struct thread) == 24, "read by Go");
_Static_assert(sizeof(struct device) == 24, "read by Go");

#endif
