// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lists when watched threads and CPUs were kept from running, over a whole trial: threads that could run and did not, and
 * softirqs that were raised and not begun.
 *
 *   sched_switch, sched_waking   the thread's state -> a row when it runs again
 *   softirq_raise, softirq_entry the CPU's          -> a row when it begins
 *   a timer on the CPU           when it was due    -> a row if it rings late
 *
 * The list is an array of fixed size, which user space has mapped; what finds no room is counted. Times are
 * CLOCK_MONOTONIC.
 */
#include "../../trace/bpf/kernel.h"
#include "witness.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* The kernel lets only programs with a compatible licence read its structures. */
char _license[] SEC("license") = "Dual BSD/GPL";

/* The loader sets their number. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct row);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct total);
} totals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, THREADS_MAX);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WITNESSES_MAX);
	__type(key, __u32);
	__type(value, struct usual);
} usuals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CPUS_MAX);
	__type(key, __u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

static __always_inline void list(__u32 witness, enum kind kind, __u64 begin, __u64 length)
{
	__u32 zero = 0, place;
	struct total *total = bpf_map_lookup_elem(&totals, &zero);
	struct usual *usual = bpf_map_lookup_elem(&usuals, &witness);
	struct row *row;

	if (!total || !usual || length < FLOOR_NS)
		return;
	place = __sync_fetch_and_add(&total->count, 1);
	row = bpf_map_lookup_elem(&rows, &place);
	if (!row) {
		__sync_fetch_and_add(&usual->overflow, 1);
		return;
	}
	row->begin = begin;
	row->witness = witness;
	row->kind = kind;
	row->cpu = bpf_get_smp_processor_id();
	*(volatile __u64 *)&row->length = length;
}

static __always_inline bool learns(struct usual *usual, __u64 length)
{
	if (usual->count >= LEARN_TIMES)
		return false;
	__sync_fetch_and_add(&usual->sum, length);
	__sync_fetch_and_add(&usual->count, 1);
	return true;
}

/* The same for what takes a while anyway: listed if it takes much longer than usual, as the engine's gap meter does. */
static __always_inline void list_unusual(__u32 witness, enum kind kind, __u64 begin, __u64 length)
{
	struct usual *usual = bpf_map_lookup_elem(&usuals, &witness);
	__u64 mean;

	if (!usual || learns(usual, length))
		return;
	mean = usual->sum / usual->count;
	if (length > FACTOR * mean)
		list(witness, kind, begin, length);
	else if (length > FACTOR_LONG * mean)
		__sync_fetch_and_add(&usual->unlisted, length - mean);
}

/* A real-time thread takes its CPU from others at once, which is no interruption, as leaving idle is none. */
static __always_inline bool real_time(const struct task_struct *task)
{
	/* MAX_RT_PRIO (include/linux/sched/prio.h) */
	return BPF_CORE_READ(task, prio) < 100;
}

/* A thread was woken on a CPU that another one had. Where it got the CPU about as fast as usual, a quiet host would not
 * have been faster. */
static __always_inline void list_slow(const struct task_struct *task, __u32 witness, __u64 begin,
				      __u64 length)
{
	struct usual *usual = bpf_map_lookup_elem(&usuals, &witness);

	if (!usual || (real_time(task) && learns(usual, length)))
		return;
	if (usual->count < LEARN_TIMES || length > FACTOR_LONG * (usual->sum / usual->count))
		list(witness, KIND_WAKE, begin, length);
}

static __always_inline void leaves(struct task_struct *prev, struct cpu *cpu, bool runnable,
				   unsigned int state, __u64 now)
{
	__u32 tid = prev->pid;
	struct thread *thread = bpf_map_lookup_elem(&threads, &tid);

	if (!thread) {
		if (tid)
			cpu->others = now;
		return;
	}
	thread->since = now;
	/* __TASK_STOPPED (include/linux/sched.h) */
	thread->state = runnable ? PREEMPTED : state & 0x4 ? STOPPED : ASLEEP;
}

/* Threads on the packets' way that share a CPU wait for one another on a quiet host as well: that is no
 * interruption. */
static __always_inline void runs(struct task_struct *next, const struct cpu *cpu, bool was_idle,
				 __u64 now)
{
	__u32 tid = next->pid, state;
	struct thread *thread = bpf_map_lookup_elem(&threads, &tid);
	bool others;
	__u64 since;

	if (!thread)
		return;
	state = thread->state;
	since = thread->since;
	others = cpu->others >= since;
	thread->state = RUNNING;
	if (state == PREEMPTED && others)
		list(thread->witness, KIND_PREEMPTED, since, now - since);
	else if (state == STOPPED)
		list(thread->witness, KIND_STOPPED, since, now - since);
	else if (state == WOKEN && others)
		list_slow(next, thread->witness, since, now - since);
	else if (state == WOKEN && was_idle) /* to leave idle takes a while */
		list_unusual(thread->witness, KIND_WAKE, since, now - since);
}

/* prev_state exists since Linux 5.18 */
SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	__u32 number = bpf_get_smp_processor_id();
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &number);
	__u64 now = bpf_ktime_get_ns();

	if (!cpu)
		return 0;
	leaves(prev, cpu, preempt || prev_state == 0, prev_state, now);
	runs(next, cpu, prev->pid == 0, now);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *task)
{
	__u32 tid = task->pid;
	struct thread *thread = bpf_map_lookup_elem(&threads, &tid);

	if (!thread || thread->state != ASLEEP)
		return 0;
	thread->since = bpf_ktime_get_ns();
	thread->state = WOKEN;
	return 0;
}

/* What a watched thread starts is watched as well. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 tid = parent->pid;
	struct thread *thread = bpf_map_lookup_elem(&threads, &tid), new = {};

	if (!thread || !thread->forks)
		return 0;
	new.witness = thread->witness;
	new.forks = 1;
	new.state = WOKEN;
	new.since = bpf_ktime_get_ns();
	tid = child->pid;
	bpf_map_update_elem(&threads, &tid, &new, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_process_exit, struct task_struct *task)
{
	__u32 tid = task->pid;

	bpf_map_delete_elem(&threads, &tid);
	return 0;
}

/* This CPU's softirq, if it is watched: 0 NET_TX, 1 NET_RX (include/linux/interrupt.h). */
static __always_inline struct cpu *watched(unsigned int vector)
{
	__u32 number = bpf_get_smp_processor_id();
	struct cpu *cpu;

	if (vector != 2 && vector != 3)
		return NULL;
	cpu = bpf_map_lookup_elem(&cpus, &number);
	return cpu && cpu->watched ? cpu : NULL;
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(softirq_raise, unsigned int vector)
{
	struct cpu *cpu = watched(vector);

	if (cpu && !cpu->raised[vector & 1])
		cpu->raised[vector & 1] = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, unsigned int vector)
{
	struct cpu *cpu = watched(vector);
	__u64 since;

	if (!cpu)
		return 0;
	since = cpu->raised[vector & 1];
	cpu->raised[vector & 1] = 0;
	if (since)
		list_unusual(cpu->witness, KIND_SOFTIRQ, since, bpf_ktime_get_ns() - since);
	return 0;
}

/* The timer rings on a grid, so the next tick is on time again. The kernel leaves a tick out that comes within another
 * program: the next one is then on the grid as well, and not late. */
SEC("perf_event")
int tick(void *context)
{
	__u32 number = bpf_get_smp_processor_id();
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &number);
	__u64 now = bpf_ktime_get_ns(), late, rest;
	struct usual *usual;

	if (!cpu || !cpu->period)
		return 0;
	late = now - cpu->ticked - cpu->period;
	usual = bpf_map_lookup_elem(&usuals, &cpu->ticks);
	if (usual && cpu->ticked && now > cpu->ticked + cpu->period) {
		rest = late % cpu->period;
		if (usual->count && rest <= FACTOR * (usual->sum / usual->count))
			late = rest;
		list_unusual(cpu->ticks, KIND_TICK, now - late, late);
	}
	cpu->ticked = now;
	return 0;
}
