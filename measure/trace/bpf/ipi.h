// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Interrupts that CPUs send to others, and why (include/trace/events/ipi.h, csd.h, tlb.h). */
#ifndef NINES_TRACE_IPI_H
#define NINES_TRACE_IPI_H

#include "ring.h"

/* Linux 6.4 */
SEC("tp_btf/ipi_send_cpu")
int BPF_PROG(ipi_send_cpu, unsigned int cpu, unsigned long callsite, void *callback)
{
	ring_event(KIND_IPI_CPU, cpu, (__u64)callback);
	return 0;
}

/* The number of words in a kernel's CPU masks. */
enum { WORDS = 8 };

SEC("tp_btf/ipi_send_cpumask")
int BPF_PROG(ipi_send_cpumask, struct cpumask *mask, unsigned long callsite, void *callback)
{
	struct cpu *cpu = ring_of(KIND_IPI_MASK);

	if (!cpu)
		return 0;
	for (int i = 0; i < WORDS; i++) {
		struct record record = {.kind = KIND_IPI_MASK, .part = i, .b = (__u64)callback};

		if (i * sizeof(long) >= bpf_core_type_size(struct cpumask))
			break;
		if (bpf_probe_read_kernel(&record.a, sizeof record.a, (__u64 *)mask + i))
			break;
		if (record.a)
			ring_put(cpu, &record);
	}
	return 0;
}

/* Linux 6.5: the function that the other CPU is to call. */
SEC("tp_btf/csd_queue_cpu")
int BPF_PROG(csd_queue_cpu, unsigned int cpu)
{
	ring_event(KIND_CSD, cpu, function_argument(ctx, 2));
	return 0;
}

SEC("tp_btf/tlb_flush")
int BPF_PROG(tlb_flush, int reason, unsigned long pages)
{
	/* 0 is TLB_FLUSH_ON_TASK_SWITCH, which comes with most switches and tells nothing more. */
	if (reason)
		ring_event(KIND_TLB_FLUSH, reason, pages);
	return 0;
}

#endif
