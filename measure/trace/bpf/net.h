// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Polls of devices, and packets that are dropped (include/trace/events/napi.h, skb.h). */
#ifndef NINES_TRACE_NET_H
#define NINES_TRACE_NET_H

#include "ring.h"

SEC("tp_btf/napi_poll")
int BPF_PROG(napi_poll, struct napi_struct *napi, int work)
{
	struct cpu *cpu = ring_of(KIND_POLL);
	struct record record = {.kind = KIND_POLL, .b = work};

	if (!cpu)
		return 0;
	record.a = note_device(napi->dev);
	ring_put(cpu, &record);
	/* A thread that polls is in no softirq whose end would say that the packet is over. */
	cpu->packet = 0;
	return 0;
}

/* The reason is there since Linux 5.17. */
SEC("tp_btf/kfree_skb")
int BPF_PROG(kfree_skb, struct sk_buff *skb, void *location, unsigned int reason)
{
	ring_event(KIND_DROP, reason, 0);
	return 0;
}

#endif
