// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Polls of devices, and packets that are dropped (include/trace/events/napi.h, skb.h). */
#ifndef NINES_TRACE_NET_H
#define NINES_TRACE_NET_H

#include "ring.h"

#include "../../../engine/port/taken.h"

SEC("tp_btf/napi_poll")
int BPF_PROG(napi_poll, struct napi_struct *napi, int work)
{
	struct cpu *cpu = ring_of(KIND_POLL);
	struct record record = {.kind = KIND_POLL, .b = work};

	if (!cpu)
		return 0;
	record.a = note_device(napi->dev);
	if (!cpu->spans[SPAN_SOFTIRQ].since) {
		ring_put(cpu, &record);
	} else {
		/* The softirq's own record will have the last of its polls. */
		const struct record before = {.kind = KIND_POLL, .a = cpu->device, .b = cpu->work};

		if (cpu->polled)
			ring_put(cpu, &before);
		cpu->polled = 1;
		cpu->device = record.a;
		cpu->work = work;
	}
	/* A thread that polls is in no softirq whose end would say that the packet is over. */
	cpu->packet = 0;
	return 0;
}

/* The reason is there since Linux 5.17. */
SEC("tp_btf/kfree_skb")
int BPF_PROG(kfree_skb, struct sk_buff *skb, void *location, unsigned int reason)
{
	/* An engine has the packet by its packet socket: what ends here was for nobody. */
	if (skb->mark == TAKEN_MARK)
		return 0;
	ring_event(KIND_DROP, reason, 0);
	return 0;
}

#endif
