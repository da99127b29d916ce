// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The format that the programs write and measure/trace/record.go reads.
 */
#ifndef NINES_TRACE_RECORD_H
#define NINES_TRACE_RECORD_H

#include <linux/types.h>

/* The meaning of a and b is next to each kind. */
enum kind {
	/* The previous thread, the next thread; `part`: why the previous one left, as ps shows
	 * it, and above that its real-time priority. */
	KIND_SWITCH = 1,
	KIND_WAKING, /* the thread, its last CPU */
	KIND_WAKEUP, /* a new thread, the CPU that it will run on */
	KIND_IRQ_ENTRY, /* the interrupt's number */
	KIND_IRQ_EXIT,
	KIND_SOFTIRQ_ENTRY, /* the vector */
	KIND_SOFTIRQ_EXIT,
	KIND_VECTOR_ENTRY, /* enum vector */
	KIND_VECTOR_EXIT,
	KIND_IPI_CPU, /* the CPU, the callback */
	KIND_IPI_MASK, /* CPUs, the callback; `part`: the first CPU is 64 times this */
	KIND_CSD, /* the CPU, the function */
	KIND_TLB_FLUSH, /* the reason, pages */
	KIND_TIMER, /* the function of a timer that expires */
	KIND_WORK_ENTRY,
	KIND_WORK_EXIT,
	KIND_IDLE, /* the state, or -1 when it ends */
	KIND_POLL, /* the device, packets */
	KIND_DROP, /* the reason */
	KIND_STAGE, /* the packet's id, the device; `part`: enum stage */
	/* An interrupt, vector or softirq from begin to end; the record's time is the end. a:
	 * the number and, above it, the length in ns; b: the device of its last poll; `flags`:
	 * enum span, FLAG_POLLED; `part`: the packets of that poll. ENTRY and EXIT are for
	 * nested ones. With FLAG_FOREIGN, b and `part` are of packets of others instead. */
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
	FLAG_RUNNABLE = 1, /* KIND_SWITCH: the previous thread could have gone on */
	FLAG_IN_SOFTIRQ = 2, /* KIND_SWITCH: in the middle of a softirq (PREEMPT_RT) */
	FLAG_POLLED = 0x80, /* KIND_SPAN, KIND_SOFTIRQ_EXIT: it has polled */
	/* The same: it has received packets of others. b: the device of the last one; `part`:
	 * their number. */
	FLAG_FOREIGN = 0x40,
};

/* In the order of their kinds. */
enum span { SPAN_IRQ, SPAN_SOFTIRQ, SPAN_VECTOR, SPANS };

struct record {
	__u64 ns; /* CLOCK_MONOTONIC */
	/* The low half of the number of earlier records on this CPU, plus one; written last. Any
	 * other value means that the record is being written. */
	__u32 sequence;
	__u8 kind, flags;
	__u16 part;
	__u64 a, b;
};

/* A running span on a CPU; `since` 0: none. */
struct span_begun {
	__u64 since;
	__u64 number;
};

/* A CPU's part of the records, and the number written. */
struct cpu {
	__u64 head;
	__u32 first, mask; /* its records; mask is their number minus one */
	__u32 kinds; /* a bit for each recorded kind; 0: none */
	__u32 running; /* the thread, since when */
	__u64 since;
	__u64 packet; /* 1 + the id of the packet being delivered to a socket; 0: none */
	__u32 place; /* index among the CPUs that follow packets */
	__u32 work; /* of the softirq's last poll, if any: number of packets, device */
	__u64 device;
	__u64 polled;
	struct span_begun spans[SPANS];
	/* Of the running softirq: the packets of others that it has received, and the device of
	 * the last one. */
	__u64 foreign_device;
	__u32 foreign;
	__u32 ours; /* 1: the last packet received here was an engine's */
};

/* Names that do not fit into a record, found by a hash of what does. */
struct thread {
	__u32 tid;
	char name[16];
	__u32 reader; /* 1 + its index among the readers of packets; 0: not a reader */
};
struct device {
	__u64 id;
	char name[16];
};

/* The places on a packet's path, in order. */
enum stage {
	STAGE_SEND, /* the engine's stamp, just before its system call */
	STAGE_QDISC, /* it enters a device's queue */
	STAGE_DRIVER, /* the driver gets it */
	STAGE_STACK, /* NAPI hands it to the protocols */
	STAGE_WAKE, /* the reader is woken */
	STAGE_RUN, /* the reader runs */
	STAGE_READ, /* the reader has it */
	STAGES,
};

/* The last place where a packet was seen. Packets that share a slot here have ids that are far
 * apart. */
struct flight {
	__u32 id;
	__u32 stage; /* enum stage */
	__u64 ns;
	__u64 device;
};

/* What a thread that reads packets was woken for. */
struct reader {
	__u64 packet; /* 1 + the id; 0: nothing */
};

/* How long packets took from one place to the next: a histogram whose bucket width doubles every
 * 32 buckets, from 1 ns to 2^36. */
enum { BUCKET_BITS = 5, BUCKETS = 32 * 32, DELAYS = 64, FLIGHTS = 8192, READERS = 64 };
struct delay {
	__u64 device; /* of the later place */
	__u32 from, to;
	__u64 count, sum, least, most;
	__u32 buckets[BUCKETS];
};

/* ns = base_ns + (ticks - base_ticks) * scale / 2^32, refreshed by the reader; packets carry the
 * ticks of their send time. */
struct clock {
	__u64 version, base_ticks, base_ns, scale;
	__u64 late_ns; /* latency from which a packet is among the slowest; 0: unknown */
};

enum { THREADS = 16384, DEVICES = 256, SPACES = 1024, CPUS_MAX = 4096 };

_Static_assert(sizeof(struct record) == 32, "read by Go");
_Static_assert(sizeof(struct cpu) == 128, "read by Go");
_Static_assert(sizeof(struct thread) == 24, "read by Go");
_Static_assert(sizeof(struct delay) == 48 + 4 * BUCKETS, "read by Go");
_Static_assert(sizeof(struct device) == 24, "read by Go");

#endif
