// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts where the packets of an engine end, and why: by the reason that the kernel gives when it drops one, by
 * interface and network namespace. Frames that XDP redirects and a device then refuses have no reason; they are
 * counted whosever they are. Attached only while probes are sent, never in a measured trial.
 */
#include "../../trace/bpf/kernel.h"
#include "../../../engine/port/taken.h"

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Of the engines, in network byte order. */
const volatile __u16 udp_port = 0;

enum cause { DROPPED, REDIRECTED, ABORTED, REFUSED };

struct end {
	__u32 cause;
	__u32 reason; /* of enum skb_drop_reason; for REDIRECTED an errno */
	__u32 ifindex; /* 0: unknown */
	__u32 netns; /* inode; 0: unknown */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct end);
	__type(value, __u64);
} ends SEC(".maps");

static __always_inline void count(const struct end *end, __u64 packets)
{
	const __u64 none = 0;
	__u64 *counted;

	bpf_map_update_elem(&ends, end, &none, BPF_NOEXIST);
	counted = bpf_map_lookup_elem(&ends, end);
	if (counted)
		__sync_fetch_and_add(counted, packets);
}

/* The bytes of the IP header of a UDP packet; 0: it is none, or has options or extensions. */
static __always_inline __u32 ip_bytes(const void *network)
{
	union {
		struct iphdr four;
		struct ipv6hdr six;
	} ip;

	if (bpf_probe_read_kernel(&ip, sizeof ip.four, network))
		return 0;
	if (ip.four.version == 4)
		return ip.four.ihl == 5 && ip.four.protocol == IPPROTO_UDP ? sizeof ip.four : 0;
	return ip.six.version == 6 && ip.six.nexthdr == IPPROTO_UDP ? sizeof ip.six : 0;
}

/* An engine's packet: UDP to its port or from it, and MoonSniff's mark (engine/packet/payload.h). */
static __always_inline bool is_ours(const struct sk_buff *skb)
{
	enum { MARK_AT = 4, MARK = 0x55 };
	const void *network = skb->head + skb->network_header;
	__u32 skip = ip_bytes(network);
	struct {
		struct udphdr udp;
		__u8 payload[MARK_AT + 1];
	} __attribute__((packed)) packet;

	if (!skip || bpf_probe_read_kernel(&packet, sizeof packet, network + skip))
		return false;
	return (packet.udp.dest == udp_port || packet.udp.source == udp_port) &&
	       packet.payload[MARK_AT] == MARK;
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(ended_dropped, struct sk_buff *skb, void *location, unsigned int reason)
{
	struct end end = {.cause = DROPPED, .reason = reason};
	struct net_device *dev;

	/* An engine has the packet through its packet socket: this copy was for nobody. */
	if (skb->mark == TAKEN_MARK || !is_ours(skb))
		return 0;
	/* A UDP socket has overwritten the device by then (dev_scratch of struct sk_buff): so it may be no pointer. */
	dev = skb->dev;
	bpf_probe_read_kernel(&end.ifindex, sizeof end.ifindex, &dev->ifindex);
	end.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	count(&end, 1);
	return 0;
}

/* include/trace/events/xdp.h */
SEC("tp_btf/xdp_devmap_xmit")
int BPF_PROG(ended_redirected, const struct net_device *from, const struct net_device *to, int sent,
	     int drops, int err)
{
	struct end end = {.cause = REDIRECTED, .reason = (__u32)-err};

	if (drops <= 0)
		return 0;
	end.ifindex = to->ifindex;
	end.netns = to->nd_net.net->ns.inum;
	count(&end, drops);
	return 0;
}

/* Since Linux 6.3 a redirect to a device that takes no XDP frames ends before it comes there. */
SEC("tp_btf/xdp_redirect_err")
int BPF_PROG(ended_refused, const struct net_device *dev, const void *program, const void *to,
	     int err)
{
	struct end end = {.cause = REFUSED, .reason = (__u32)-err, .ifindex = dev->ifindex};

	end.netns = dev->nd_net.net->ns.inum;
	count(&end, 1);
	return 0;
}

SEC("tp_btf/xdp_exception")
int BPF_PROG(ended_aborted, const struct net_device *dev, const void *program, __u32 act)
{
	struct end end = {.cause = ABORTED, .reason = act, .ifindex = dev->ifindex};

	end.netns = dev->nd_net.net->ns.inum;
	count(&end, 1);
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
