/*
 * filter: what the kernel does for a port, in two small programs that know only its UDP port.
 * nines_redirect gives the port's frames to the AF_XDP socket of the receive queue, and also sends
 * bursts in test runs (xdp_frames.h). nines_drop runs after AF_PACKET's taps and drops frames that
 * raw and ring have taken, because the kernel's own stack would answer them with ICMP errors. All
 * other frames go on to the kernel. A port of a switch takes all frames, so the kernel's stack sees
 * none there. nines_witness counts the packets of a UDP socket by the headers that the socket does not
 * see (signature.h), and lets all of them through.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "filter.h"
#include "../packet/signature.h"
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

/* The ways that packets of a UDP socket came, of the measured ones of a trial. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct signatures);
} ways SEC(".maps");

static __always_inline int is_ours6(void *data, void *end)
{
	struct ethhdr *eth = data;
	struct ipv6hdr *ip = (void *)(eth + 1);
	struct udphdr *udp = (void *)(ip + 1);

	return (void *)(udp + 1) <= end && eth->h_proto == bpf_htons(ETH_P_IPV6) &&
	       *(__u8 *)ip >> 4 == 6 && ip->nexthdr == IPPROTO_UDP &&
	       udp->dest == settings.udp_port;
}

static __always_inline int is_ours(void *data, void *end)
{
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct udphdr *udp = (void *)(ip + 1);

	if (settings.udp_port == 0 || is_ours6(data, end))
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

static __always_inline long read_ip4(struct __sk_buff *skb, struct signature_fields *f)
{
	struct iphdr ip;
	long err = bpf_skb_load_bytes_relative(skb, 0, &ip, sizeof ip, BPF_HDR_START_NET);

	if (err)
		return err;
	f->ttl = ip.ttl;
	f->tos = ip.tos;
	f->ip_length = ip.tot_len;
	f->ip_source[2] = f->ip_destination[2] = bpf_htonl(0xffff);
	f->ip_source[3] = ip.saddr;
	f->ip_destination[3] = ip.daddr;
	return 0;
}

static __always_inline long read_ip6(struct __sk_buff *skb, struct signature_fields *f)
{
	struct ipv6hdr ip;
	long err = bpf_skb_load_bytes_relative(skb, 0, &ip, sizeof ip, BPF_HDR_START_NET);

	if (err)
		return err;
	f->ttl = ip.hop_limit;
	f->tos = ip.priority << 4 | ip.flow_lbl[0] >> 4;
	f->ip_length = bpf_htons(bpf_ntohs(ip.payload_len) + sizeof ip);
	__builtin_memcpy(f->ip_source, &ip.saddr, sizeof f->ip_source);
	__builtin_memcpy(f->ip_destination, &ip.daddr, sizeof f->ip_destination);
	return 0;
}

/* Two CPUs may add the same signature at once: then it has two rows, which the engine merges. A packet
 * without a MAC header (of a tunnel's device) has MACs of zero. */
SEC("socket")
int nines_witness(struct __sk_buff *skb)
{
	/* What follows the UDP header: MoonSniff's mark and the flags (packet/payload.h). */
	enum { MARK_AT = 8 + 4, MARK = 0x55, MEASURED = 1 };
	struct signature s = {};
	struct udphdr udp;
	__u8 mark[2];
	__u32 zero = 0;
	struct signatures *t = bpf_map_lookup_elem(&ways, &zero);

	if (!t || bpf_skb_load_bytes(skb, MARK_AT, mark, 2) || mark[0] != MARK ||
	    !(mark[1] & MEASURED) ||
	    (skb->protocol == bpf_htons(ETH_P_IPV6) ? read_ip6(skb, &s.fields)
						    : read_ip4(skb, &s.fields)) ||
	    bpf_skb_load_bytes(skb, 0, &udp, sizeof udp))
		return skb->len;
	bpf_skb_load_bytes_relative(skb, 0, s.fields.destination, 12, BPF_HDR_START_MAC);
	s.fields.udp_source = udp.source;
	s.fields.udp_destination = udp.dest;
	struct signature_flows flows = {settings.flows, settings.flow_port, settings.flow_address};
	signature_join_flows(&s, &flows);
	for (__u32 i = 0; i < SIGNATURES_MAX; i++) {
		__u32 at = i;

		/* The compiler keeps the bound of i in another variable than its value, which the
		 * verifier does not follow. */
		asm volatile("%0 &= %1" : "+r"(at) : "i"(SIGNATURES_MAX - 1));
		struct signature_row *row = &t->rows[at];

		if (i >= t->count) {
			row->signature = s;
			row->packets = 1;
			t->count = i + 1;
			return skb->len;
		}
		if (signature_equal(&row->signature, &s)) {
			__sync_fetch_and_add(&row->packets, 1);
			return skb->len;
		}
	}
	__sync_fetch_and_add(&t->others, 1);
	return skb->len;
}

char _license[] SEC("license") = "Dual BSD/GPL";
