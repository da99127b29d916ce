// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Device polls and dropped packets (include/trace/events/napi.h, skb.h). */
#ifndef NINES_TRACE_NET_H
#define NINES_TRACE_NET_H

#include "stage.h"

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
	cpu->ours = 0;
	return 0;
}

/* The reason exists since Linux 5.17. */
SEC("tp_btf/kfree_skb")
int BPF_PROG(kfree_skb, struct sk_buff *skb, void *location, unsigned int reason)
{
	struct record record = {.kind = KIND_DROP, .a = reason};
	struct cpu *cpu = ring_of(KIND_DROP);

	/* An engine has the packet through its packet socket: this copy was for nobody. */
	if (!cpu || skb->mark == TAKEN_MARK)
		return 0;
	/* A full queue of others is none of our packets', and a flood would fill the ring with its
	 * drops. A UDP socket has overwritten the packet's device by then (dev_scratch of struct
	 * sk_buff), so the last packet received here counts as well. */
	if (udp_port && !cpu->ours && !passes(skb->dev))
		return 0;
	ring_put(cpu, &record);
	return 0;
}

#endif
