// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Interrupts of devices, the CPU's own vectors, and softirqs (include/trace/events/irq.h,
 * arch/x86/include/asm/trace/irq_vectors.h).
 */
#ifndef NINES_TRACE_IRQ_H
#define NINES_TRACE_IRQ_H

#include "ring.h"

/*
 * These are the most frequent events under traffic: each finished one is one record instead of
 * two, or of three if it polled. Spans of one sort do not nest, except where softirqs run in
 * threads and preempt one another (PREEMPT_RT).
 */
static __always_inline void span_begin(enum span span, __u64 number)
{
	struct record record = {.kind = KIND_IRQ_ENTRY + 2 * span, .a = number};
	struct cpu *cpu = ring_of(KIND_SPAN);

	if (!cpu)
		return;
	if (cpu->spans[span].since) {
		ring_put(cpu, &record);
		return;
	}
	cpu->spans[span].number = number;
	cpu->spans[span].since = bpf_ktime_get_ns();
}

static __always_inline void span_end(enum span span, __u64 number)
{
	struct record record = {.kind = KIND_SPAN, .flags = span, .a = number};
	struct cpu *cpu = ring_of(KIND_SPAN);
	__u64 now, since, length;

	if (!cpu)
		return;
	now = bpf_ktime_get_ns();
	since = cpu->spans[span].since;
	if (since && cpu->spans[span].number == number) {
		length = now - since;
		record.a |= (length >> 32 ? 0xffffffff : length) << 32;
	} else { /* its begin was before the recorder's, or another's has overwritten it */
		record.kind = KIND_IRQ_EXIT + 2 * span;
		since = 0;
	}
	if (span == SPAN_SOFTIRQ) {
		if (cpu->foreign) {
			record.flags |= FLAG_FOREIGN;
			record.part = cpu->foreign >> 16 ? 0xffff : cpu->foreign;
			record.b = cpu->foreign_device;
			cpu->foreign = 0;
		} else if (cpu->polled) {
			record.flags |= FLAG_POLLED;
			record.part = cpu->work;
			record.b = cpu->device;
		}
		cpu->polled = 0;
		cpu->packet = 0;
		cpu->ours = 0;
	}
	ring_put_at(cpu, &record, now);
	if (since)
		cpu->spans[span].since = 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_handler_entry, int irq)
{
	span_begin(SPAN_IRQ, irq);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_handler_exit, int irq)
{
	span_end(SPAN_IRQ, irq);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, unsigned int vector)
{
	span_begin(SPAN_SOFTIRQ, vector);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit, unsigned int vector)
{
	span_end(SPAN_SOFTIRQ, vector);
	return 0;
}

#define VECTOR(name, number)                     \
	SEC("tp_btf/" #name "_entry")            \
	int name##_entry(__u64 *ctx)             \
	{                                        \
		(void)ctx;                       \
		span_begin(SPAN_VECTOR, number); \
		return 0;                        \
	}                                        \
	SEC("tp_btf/" #name "_exit")             \
	int name##_exit(__u64 *ctx)              \
	{                                        \
		(void)ctx;                       \
		span_end(SPAN_VECTOR, number);   \
		return 0;                        \
	}

VECTOR(local_timer, VECTOR_LOCAL_TIMER)
VECTOR(reschedule, VECTOR_RESCHEDULE)
VECTOR(call_function, VECTOR_CALL_FUNCTION)
VECTOR(call_function_single, VECTOR_CALL_FUNCTION_SINGLE)
VECTOR(irq_work, VECTOR_IRQ_WORK)
VECTOR(spurious_apic, VECTOR_SPURIOUS)
VECTOR(error_apic, VECTOR_ERROR)
VECTOR(x86_platform_ipi, VECTOR_PLATFORM)
VECTOR(thermal_apic, VECTOR_THERMAL)
VECTOR(threshold_apic, VECTOR_THRESHOLD)
VECTOR(deferred_error_apic, VECTOR_DEFERRED_ERROR)

#endif
