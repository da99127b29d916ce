// SPDX-License-Identifier: Apache-2.0
/*
 * Drops all that a device receives, for a link that is down deliberately and whose ends are both in nodes.
 *
 * It is attached in generic mode, which drops a packet before anything else sees it, such as packet
 * sockets (__netif_receive_skb_core in net/core/dev.c), on any device and with any MTU, and which leaves
 * the device as it is: a program in native mode would change how a veth receives.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int nines_cut(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_DROP;
}

char _license[] SEC("license") = "Apache-2.0";
