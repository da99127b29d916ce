// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Device polls and dropped packets (include/trace/events/napi.h, skb.h). */
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
		/* The softirq's own record will carry its last poll. */
		const struct record before = {.kind = KIND_POLL, .a = cpu->device, .b = cpu->work};

		if (cpu->polled)
			ring_put(cpu, &before);
		cpu->polled = 1;
		cpu->device = record.a;
		cpu->work = work;
	}
	/* A polling thread is in no softirq whose end would mark the packet as done. */
	cpu->packet = 0;
	return 0;
}

/* The reason exists since Linux 5.17. */
SEC("tp_btf/kfree_skb")
int BPF_PROG(kfree_skb, struct sk_buff *skb, void *location, unsigned int reason)
{
	/* An engine has the packet through its packet socket: this copy was for nobody. */
	if (skb->mark == TAKEN_MARK)
		return 0;
	ring_event(KIND_DROP, reason, 0);
	return 0;
}

#endif
