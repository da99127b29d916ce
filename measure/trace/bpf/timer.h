// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Timer and workqueue functions (include/trace/events/timer.h, workqueue.h). */
#ifndef NINES_TRACE_TIMER_H
#define NINES_TRACE_TIMER_H

#include "ring.h"

/* A function's return is not recorded: the interrupt or softirq that called it then calls the
 * next one, which is recorded, or ends. A busy wait by the clock has a timer with each packet. */
SEC("tp_btf/timer_expire_entry")
int BPF_PROG(timer_expire_entry, struct timer_list *timer)
{
	ring_event(KIND_TIMER, (__u64)timer->function, 0);
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(hrtimer_expire_entry, struct hrtimer *timer)
{
	ring_event(KIND_TIMER, (__u64)timer->function, 0);
	return 0;
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(workqueue_execute_start, struct work_struct *work)
{
	ring_event(KIND_WORK_ENTRY, (__u64)work, (__u64)work->func);
	return 0;
}

SEC("tp_btf/workqueue_execute_end")
int BPF_PROG(workqueue_execute_end, struct work_struct *work)
{
	ring_event(KIND_WORK_EXIT, (__u64)work, function_argument(ctx, 1));
	return 0;
}

#endif
