/*
 * What the kernel does for a port, by two small programs that know only its UDP
 * port: nines_redirect gives its frames to the AF_XDP socket of the receive queue;
 * nines_drop, behind AF_PACKET's taps, ends the way of frames that raw and ring
 * have taken, which the kernel's own stack would answer with ICMP errors. All
 * other frames go on to the kernel. A port of a switch takes all frames, so the
 * kernel's stack is silent there.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "taken.h"

/* Network byte order, 0: every frame; set by the engine before the program is loaded. */
const volatile __u16 udp_port = 0;

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

static __always_inline int is_ours(void *data, void *end)
{
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct udphdr *udp = (void *)(ip + 1);

	if (udp_port == 0)
		return 1;
	return (void *)(udp + 1) <= end && eth->h_proto == bpf_htons(ETH_P_IP) &&
	       *(__u8 *)ip == 0x45 && ip->protocol == IPPROTO_UDP &&
	       !(ip->frag_off & bpf_htons(0x3fff)) && udp->dest == udp_port;
}

/* A frame in several buffers goes as one (xdp.frags, Linux 5.18); the headers are
 * in the first. */
SEC("xdp.frags")
int nines_redirect(struct xdp_md *ctx)
{
	if (!is_ours((void *)(long)ctx->data, (void *)(long)ctx->data_end))
		return XDP_PASS;
	/* A queue without a socket: the kernel has it. */
	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
}

/* TCX_NEXT and TCX_DROP of include/uapi/linux/bpf.h, Linux 6.6. */
SEC("tc")
int nines_drop(struct __sk_buff *skb)
{
	if (!is_ours((void *)(long)skb->data, (void *)(long)skb->data_end))
		return -1;
	skb->mark = TAKEN_MARK;
	return 2;
}

char _license[] SEC("license") = "Dual BSD/GPL";
