/*
 * filter: what the kernel does for a port, in two small programs that know only its UDP port.
 * nines_redirect gives the port's frames to the AF_XDP socket of the receive queue, and also sends
 * bursts in test runs (xdp_frames.h). nines_drop runs after AF_PACKET's taps and drops frames that
 * raw and ring have taken, because the kernel's own stack would answer them with ICMP errors. All
 * other frames go on to the kernel. A port of a switch takes all frames, so the kernel's stack sees
 * none there.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "filter.h"
#include "taken.h"

/* Set by the engine before the programs are loaded. */
const volatile struct filter_settings settings = {};

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

/* A burst to send, and the interface that it leaves by (xdp_frames.h). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xdp_frames_burst);
} burst SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} out SEC(".maps");

static __always_inline int is_ours(void *data, void *end)
{
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct udphdr *udp = (void *)(ip + 1);

	if (settings.udp_port == 0)
		return 1;
	return (void *)(udp + 1) <= end && eth->h_proto == bpf_htons(ETH_P_IP) &&
	       *(__u8 *)ip == 0x45 && ip->protocol == IPPROTO_UDP &&
	       !(ip->frag_off & bpf_htons(0x3fff)) && udp->dest == settings.udp_port;
}

/* Fills a frame of a test run with the burst's next frame. */
static __always_inline int send(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct xdp_frames_burst *b = bpf_map_lookup_elem(&burst, &zero);

	if (!b)
		return XDP_ABORTED;
	__u64 i = b->next++ % XDP_FRAMES_MAX;
	__u64 bytes = b->frames[i].bytes;
	__s64 grow = (__s64)(bytes - bpf_xdp_get_buff_len(ctx));

	/* Keeps the compiler from checking a copy: the verifier tracks only this variable. */
	asm volatile("" : "+r"(bytes));
	if (bytes == 0 || bytes > XDP_FRAMES_BYTES ||
	    (grow && bpf_xdp_adjust_tail(ctx, (int)grow)) ||
	    bpf_xdp_store_bytes(ctx, 0, b->frames[i].data, (__u32)bytes) ||
	    bpf_redirect_map(&out, 0, XDP_ABORTED) != XDP_REDIRECT) {
		b->aborted++;
		return XDP_ABORTED;
	}
	return XDP_REDIRECT;
}

/* A frame in several buffers is redirected as one (xdp.frags, Linux 5.18); the headers are
 * in the first. */
SEC("xdp.frags")
int nines_redirect(struct xdp_md *ctx)
{
	if (settings.sends && ctx->ingress_ifindex == FILTER_LOOPBACK)
		return send(ctx);
	if (!is_ours((void *)(long)ctx->data, (void *)(long)ctx->data_end))
		return XDP_PASS;
	/* Without a socket on the queue, the kernel gets the frame. */
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
