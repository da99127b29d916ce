// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Thread switches and wake-ups (include/trace/events/sched.h). */
#ifndef NINES_TRACE_SCHED_H
#define NINES_TRACE_SCHED_H

#include "stage.h"

/* The states in which a thread leaves its CPU (include/linux/sched.h), as ps shows them
 * (fs/proc/array.c, task_state_array). */
static __always_inline __u16 letter(unsigned int state)
{
	if (state & 0x4)
		return 'T'; /* __TASK_STOPPED: by a signal */
	if (state & 0x8)
		return 't'; /* __TASK_TRACED: by a debugger */
	if (state & 0x1)
		return 'S'; /* TASK_INTERRUPTIBLE */
	if (state & 0x2)
		return state & 0x400 ? 'I' : 'D'; /* TASK_UNINTERRUPTIBLE, TASK_NOLOAD */
	return 'X';
}

/* The real-time priority for the kernel's internal one, in which 99 is the lowest and a deadline
 * thread has -1 (include/linux/sched/prio.h, kernel/sched/core.c, normal_prio). */
static __always_inline __u16 realtime(int prio)
{
	return prio < 0 ? 100 : prio < 99 ? 99 - prio : 0;
}

/* prev_state exists since Linux 5.18 */
SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct record record = {
		.kind = KIND_SWITCH,
		.flags = preempt || prev_state == 0 ? FLAG_RUNNABLE : 0,
		.a = prev->pid,
		.b = next->pid,
	};
	struct cpu *cpu = ring_of(KIND_SWITCH);
	const struct thread *thread;

	if (!cpu)
		return 0;
	record.part = realtime(prev->prio) << 8;
	if (!record.flags)
		record.part |= letter(prev_state);
	if (cpu->spans[SPAN_SOFTIRQ].since)
		record.flags |= FLAG_IN_SOFTIRQ;
	cpu->since = ring_put(cpu, &record);
	cpu->running = next->pid;
	note_thread(prev);
	thread = note_thread(next);
	if (thread && thread->reader)
		stage_running(cpu, thread);
	return 0;
}

/* The waker is running here; the thread's CPU is chosen next. */
SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *task)
{
	struct record record = {.kind = KIND_WAKING, .a = task->pid, .b = task->thread_info.cpu};
	struct cpu *cpu = ring_of(KIND_WAKING);

	if (!cpu)
		return 0;
	ring_put(cpu, &record);
	/* An interrupt within the softirq wakes threads for its own reasons. */
	if (cpu->packet && !cpu->spans[SPAN_IRQ].since && !cpu->spans[SPAN_VECTOR].since)
		stage_waking(cpu, task->pid);
	return 0;
}

/* The only wake-up of a new thread. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(sched_wakeup_new, struct task_struct *task)
{
	ring_event(KIND_WAKEUP, task->pid, task->thread_info.cpu);
	return 0;
}

/* include/trace/events/power.h */
SEC("tp_btf/cpu_idle")
int BPF_PROG(cpu_idle, unsigned int state)
{
	ring_event(KIND_IDLE, state, 0);
	return 0;
}

#endif
