// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Interrupts of devices, the CPU's own vectors, and softirqs (include/trace/events/irq.h,
 * arch/x86/include/asm/trace/irq_vectors.h).
 */
#ifndef NINES_TRACE_IRQ_H
#define NINES_TRACE_IRQ_H

#include "ring.h"

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_handler_entry, int irq)
{
	ring_event(KIND_IRQ_ENTRY, irq, 0);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_handler_exit, int irq)
{
	ring_event(KIND_IRQ_EXIT, irq, 0);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, unsigned int vector)
{
	ring_event(KIND_SOFTIRQ_ENTRY, vector, 0);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit, unsigned int vector)
{
	struct record record = {.kind = KIND_SOFTIRQ_EXIT, .a = vector};
	struct cpu *cpu = ring_of(KIND_SOFTIRQ_EXIT);

	if (!cpu)
		return 0;
	ring_put(cpu, &record);
	cpu->packet = 0;
	return 0;
}

#define VECTOR(name, number)                              \
	SEC("tp_btf/" #name "_entry")                     \
	int name##_entry(__u64 *ctx)                      \
	{                                                 \
		(void)ctx;                                \
		ring_event(KIND_VECTOR_ENTRY, number, 0); \
		return 0;                                 \
	}                                                 \
	SEC("tp_btf/" #name "_exit")                      \
	int name##_exit(__u64 *ctx)                       \
	{                                                 \
		(void)ctx;                                \
		ring_event(KIND_VECTOR_EXIT, number, 0);  \
		return 0;                                 \
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
