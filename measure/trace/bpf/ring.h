// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rings of records, one per CPU, which overwrite the oldest records.
 *
 *   program: time -> take a place (head++) -> write the record -> its sequence
 *   reader:  head -> copy -> head again: records overwritten meanwhile are lost
 *
 * All rings are in one map, which the reader has mapped: an event copies nothing to it, and
 * wakes and calls nothing. An interrupt's programs may run within another's on the same CPU,
 * so an atomic addition takes each place; records are in the order of their places, and
 * almost in that of their times.
 */
#ifndef NINES_TRACE_RING_H
#define NINES_TRACE_RING_H

#include "kernel.h"
#include "record.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* The loader sets their number. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct record);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CPUS_MAX);
	__type(key, __u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, THREADS);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, DEVICES);
	__type(key, __u32);
	__type(value, struct device);
} devices SEC(".maps");

/* This CPU's ring, if it records the kind; else NULL. */
static __always_inline struct cpu *ring_of(enum kind kind)
{
	__u32 number = bpf_get_smp_processor_id();
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &number);

	return cpu && cpu->kinds & (1u << kind) ? cpu : NULL;
}

static __always_inline void ring_put_at(struct cpu *cpu, const struct record *from, __u64 now)
{
	__u64 place = __sync_fetch_and_add(&cpu->head, 1);
	__u32 key = cpu->first + ((__u32)place & cpu->mask);
	struct record *record = bpf_map_lookup_elem(&records, &key);

	if (!record)
		return;
	*(volatile __u32 *)&record->sequence = 0;
	record->ns = now;
	record->kind = from->kind;
	record->flags = from->flags;
	record->part = from->part;
	record->a = from->a;
	record->b = from->b;
	*(volatile __u32 *)&record->sequence = (__u32)place + 1;
}

/* Returns the record's time. */
static __always_inline __u64 ring_put(struct cpu *cpu, const struct record *from)
{
	__u64 now = bpf_ktime_get_ns();

	ring_put_at(cpu, from, now);
	return now;
}

static __always_inline void ring_event(enum kind kind, __u64 a, __u64 b)
{
	struct record record = {.kind = kind, .a = a, .b = b};
	struct cpu *cpu = ring_of(kind);

	if (cpu)
		ring_put(cpu, &record);
}

/* A function pointer argument, which the verifier does not let programs read directly. */
static __always_inline __u64 function_argument(const __u64 *ctx, int number)
{
	__u64 function = 0;

	bpf_probe_read_kernel(&function, sizeof function, ctx + number);
	return function;
}

/* Notes a thread's name for the reader. Threads that hash to the same slot overwrite each other,
 * except readers: then user space asks /proc. */
static __always_inline const struct thread *note_thread(const struct task_struct *task)
{
	__u32 tid = task->pid, key = tid % THREADS;
	struct thread *thread = bpf_map_lookup_elem(&threads, &key);
	const __u64 *name = (const __u64 *)task->comm;
	__u64 *noted;

	if (!thread || (thread->reader && thread->tid != tid))
		return NULL;
	noted = (__u64 *)thread->name;
	if (thread->tid == tid && noted[0] == name[0])
		return thread;
	noted[0] = name[0];
	noted[1] = name[1];
	thread->tid = tid;
	return thread;
}

/* The same for a device. Its id in a record is its number and that of its network namespace; 0
 * for no device. */
static __always_inline __u64 note_device(const struct net_device *dev)
{
	struct device *device;
	__u32 space, number, key;
	__u64 id;

	if (!dev)
		return 0;
	number = dev->ifindex;
	space = dev->nd_net.net->ns.inum;
	id = (__u64)space << 32 | number;
	key = (space * 31 + number) % DEVICES;
	device = bpf_map_lookup_elem(&devices, &key);
	if (device && device->id != id) {
		const __u64 *name = (const __u64 *)dev->name;

		((__u64 *)device->name)[0] = name[0];
		((__u64 *)device->name)[1] = name[1];
		device->id = id;
	}
	return id;
}

#endif
