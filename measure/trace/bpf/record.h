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
	KIND_TIMER, /* the function of one that expires */
	KIND_WORK_ENTRY,
	KIND_WORK_EXIT,
	KIND_IDLE, /* the state, or -1 when it ends */
	KIND_POLL, /* the device, packets */
	KIND_DROP, /* the reason */
	KIND_STAGE, /* the packet's id, the device; `part`: enum stage */
	/* An interrupt, vector or softirq from its begin to its end, which is the record's time:
	 * the number and, above, the length in ns; what its last poll was of; `flags`: enum
	 * span, FLAG_POLLED; `part`: the packets of that poll. ENTRY and EXIT are for one
	 * within another. */
	KIND_SPAN,
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

enum {
	FLAG_RUNNABLE = 1, /* KIND_SWITCH: the thread that goes could have gone on */
	FLAG_IN_SOFTIRQ = 2, /* KIND_SWITCH: in the middle of a softirq (PREEMPT_RT) */
	FLAG_POLLED = 0x80, /* KIND_SPAN, KIND_SOFTIRQ_EXIT: it has polled */
};

/* In the order of their kinds. */
enum span { SPAN_IRQ, SPAN_SOFTIRQ, SPAN_VECTOR, SPANS };

struct record {
	__u64 ns; /* CLOCK_MONOTONIC */
	/* The low half of how many came before on this CPU, plus one; written last. Anything
	 * else is a record that is being written. */
	__u32 sequence;
	__u8 kind, flags;
	__u16 part;
	__u64 a, b;
};

/* Of what is under way on a CPU; `since` 0: nothing. */
struct span_begun {
	__u64 since;
	__u64 number;
};

/* A CPU's part of the records, and how many it has written. */
struct cpu {
	__u64 head;
	__u32 first, mask; /* its records; mask is their number less one */
	__u32 kinds; /* a bit for each that it records; 0: none */
	__u32 running; /* the thread, since when */
	__u64 since;
	__u64 packet; /* 1 + the id of what this CPU's softirq is handing to a socket; 0: none */
	__u32 place; /* among the CPUs that follow packets */
	__u32 work; /* of the softirq's last poll, if there was one: how many packets, the device */
	__u64 device;
	__u64 polled;
	struct span_begun spans[SPANS];
	__u64 pad[2];
};

/* Names that do not fit into a record, found by what does. */
struct thread {
	__u32 tid;
	char name[16];
	__u32 reader; /* 1 + its place among the readers of packets; 0: it is none */
};
struct device {
	__u64 id;
	char name[16];
};

/* The places of a packet's way, in their order. */
enum stage {
	STAGE_SEND, /* the engine's stamp, just before its system call */
	STAGE_QDISC, /* it comes to a device's queue */
	STAGE_DRIVER, /* the driver gets it */
	STAGE_STACK, /* NAPI hands it to the protocols */
	STAGE_WAKE, /* the reader is woken */
	STAGE_RUN, /* the reader runs */
	STAGE_READ, /* the reader has it */
	STAGES,
};

/* The last place where a packet was seen. Packets that share a place here have ids that
 * are far apart. */
struct flight {
	__u32 id;
	__u32 stage; /* enum stage */
	__u64 ns;
	__u64 device;
};

/* Of a thread that reads packets: what it was woken for. */
struct reader {
	__u64 packet; /* 1 + the id; 0: nothing */
};

/* How long packets took from one place to the next: a histogram whose buckets double
 * every 32 of them, from 1 ns to 2^36. */
enum { BUCKET_BITS = 5, BUCKETS = 32 * 32, DELAYS = 64, FLIGHTS = 8192, READERS = 64 };
struct delay {
	__u64 device; /* of the place that it came to */
	__u32 from, to;
	__u64 count, sum, least, most;
	__u32 buckets[BUCKETS];
};

/* ns = base_ns + (ticks - base_ticks) * scale / 2^32, refreshed by the reader; packets
 * carry the ticks of their send. */
struct clock {
	__u64 version, base_ticks, base_ns, scale;
	__u64 late_ns; /* what makes a packet one of the slowest; 0: not known */
};

enum { THREADS = 16384, DEVICES = 256, SPACES = 1024, CPUS_MAX = 4096 };

_Static_assert(sizeof(struct record) == 32, "read by Go");
_Static_assert(sizeof(struct cpu) == 128, "read by Go");
_Static_assert(sizeof(struct thread) == 24, "read by Go");
_Static_assert(sizeof(struct delay) == 48 + 4 * BUCKETS, "read by Go");
_Static_assert(sizeof(struct device) == 24, "read by Go");

#endif
