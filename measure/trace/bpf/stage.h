// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The path of the engine's packets through the kernel, as in figure 1 of Fujimoto et al.,
 * "KBP: Kernel Enhancements for Low-Latency Networking" (IEICE, 2021):
 *
 *   send -> qdisc -> driver -> stack -> wake -> run -> read
 *
 * A packet is recognised by its payload (docs/reference/engine-protocol.md): the mark after its id,
 * sent to the engines' UDP port. Each place writes a record, and adds the time since the
 * previous place to a histogram of this CPU. At high rates only one in this many packets is
 * followed; of the others, those that are late when they reach the stack get records, because
 * the late packets are the ones to explain.
 */
#ifndef NINES_TRACE_STAGE_H
#define NINES_TRACE_STAGE_H

#include "ring.h"

/* Set before loading: the engines' UDP port, in network byte order; 0: no stages. */
const volatile __u16 udp_port = 0;
/* Bytes of their IP headers: 20 of IPv4, 40 of IPv6. */
const volatile __u32 ip_bytes = 20;
/* The histograms take packets whose id has none of these bits. */
const volatile __u32 id_mask = 0;

/* The network namespaces in which packets are followed, each at index number % SPACES: other
 * engines on this host may use the same port. Array values are 8 bytes apart. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SPACES);
	__type(key, __u32);
	__type(value, __u64);
} spaces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FLIGHTS);
	__type(key, __u32);
	__type(value, struct flight);
} flights SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, READERS);
	__type(key, __u32);
	__type(value, struct reader);
} readers SEC(".maps");

/* DELAYS per CPU; the loader sets the number of CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct delay);
} delays SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct clock);
} clock SEC(".maps");

/* The end of a UDP header and the beginning of an engine's payload, starting where the ticks are
 * aligned. */
struct packet_head {
	__u16 destination_port, length, checksum;
	__u16 id_low, id_high;
	__u8 mark, flags;
	__u32 lag_ns;
	__u64 ticks : 48, stream : 16;
};

enum { ETHERNET = 14, UDP = 8, HEAD_BEFORE = 6, PAYLOAD = 18, MARK = 0x55 };
enum { MEASURED = 1, PROBE = 4 };
/* Ids count per stream, so only one is followed: the first. */
enum { STREAM = 0 };

static __always_inline __u32 packet_id(const struct packet_head *h)
{
	return (__u32)h->id_high << 16 | h->id_low;
}

static __always_inline bool is_sampled(__u32 id)
{
	return !(id & id_mask);
}

/* Reads the head of an engine's packet with its payload at this offset from skb->data; false if
 * it is no such packet. */
static __always_inline bool packet_read(const struct sk_buff *skb, __u32 payload,
					struct packet_head *h)
{
	if (!udp_port || skb->len < payload + PAYLOAD)
		return false;
	if (bpf_probe_read_kernel(h, sizeof *h, skb->data + payload - HEAD_BEFORE))
		return false;
	return h->mark == MARK && (h->flags & (MEASURED | PROBE)) == MEASURED &&
	       h->stream == STREAM && h->destination_port == udp_port;
}

static __always_inline bool is_followed(const struct net *net)
{
	__u32 number = net->ns.inum, key = number % SPACES;
	const __u64 *space = bpf_map_lookup_elem(&spaces, &key);

	return space && *space == number;
}

static __always_inline bool passes(const struct net_device *dev)
{
	return dev && is_followed(dev->nd_net.net);
}

/* Notes that a packet that is not an engine's was received. */
static __always_inline void receive_foreign(struct cpu *cpu, const struct net_device *dev)
{
	cpu->ours = 0;
	cpu->foreign++;
	cpu->foreign_device = note_device(dev);
}

/* Within a doubling, buckets have equal width, as in HdrHistogram. */
static __always_inline __u32 bucket_of(__u64 ns)
{
	__u32 exponent = 0;
	__u64 rest = ns >> BUCKET_BITS;

	if (rest >> 16) {
		exponent += 16;
		rest >>= 16;
	}
	if (rest >> 8) {
		exponent += 8;
		rest >>= 8;
	}
	if (rest >> 4) {
		exponent += 4;
		rest >>= 4;
	}
	if (rest >> 2) {
		exponent += 2;
		rest >>= 2;
	}
	if (rest >> 1) {
		exponent += 1;
		rest >>= 1;
	}
	/* Without its leading bit the mantissa has BUCKET_BITS bits; values below 32 are the
	 * bucket. */
	exponent += rest;
	return rest ? (exponent << BUCKET_BITS) + (ns >> (exponent - 1) & 31) : (__u32)ns;
}

static __always_inline void delay_add(const struct cpu *cpu, const struct flight *from, __u32 to,
				      __u64 device, __u64 ns)
{
	__u32 hash = (__u32)device * 31 + (__u32)(device >> 32) * 17 + from->stage * 8 + to;
	__u32 bucket = bucket_of(ns);

	for (int i = 0; i < 4; i++) {
		__u32 key = cpu->place * DELAYS + (hash + i) % DELAYS;
		struct delay *delay = bpf_map_lookup_elem(&delays, &key);

		if (!delay)
			return;
		if (!delay->count) {
			delay->device = device;
			delay->from = from->stage;
			delay->to = to;
			delay->least = ns;
		} else if (delay->device != device || delay->from != from->stage ||
			   delay->to != to) {
			continue;
		}
		delay->count++;
		delay->sum += ns;
		if (ns < delay->least)
			delay->least = ns;
		if (ns > delay->most)
			delay->most = ns;
		if (bucket < BUCKETS)
			delay->buckets[bucket]++;
		return;
	}
}

/* Records a packet at a place; `device` 0 means the device of its last place. */
static __always_inline void stage(struct cpu *cpu, __u32 id, __u32 at, __u64 device)
{
	struct record record = {.kind = KIND_STAGE, .part = at, .a = id};
	__u32 key = id % FLIGHTS;
	struct flight *flight = bpf_map_lookup_elem(&flights, &key);
	__u64 now;

	if (!flight)
		return;
	if (!device && flight->id == id)
		device = flight->device;
	record.b = device;
	now = ring_put(cpu, &record);
	/* A trial starts with the same ids as the one before. */
	if (is_sampled(id) && flight->id == id && flight->ns && now >= flight->ns &&
	    now - flight->ns < 1000000000)
		delay_add(cpu, flight, at, device, now - flight->ns);
	flight->id = id;
	flight->stage = at;
	flight->ns = now;
	flight->device = device;
}

/* CLOCK_MONOTONIC of a stamp from the last seconds, of which the low 48 bits are known; 0 if
 * unknown. */
static __always_inline __u64 time_of(__u64 ticks)
{
	__u32 zero = 0;
	const volatile struct clock *c = bpf_map_lookup_elem(&clock, &zero);
	__u64 version, since, base, scale;
	__s64 apart;

	if (!c)
		return 0;
	version = c->version;
	apart = (__s64)((ticks - c->base_ticks) << 16) >> 16;
	since = apart < 0 ? -apart : apart;
	base = c->base_ns;
	scale = c->scale;
	/* The version is odd during a write. Beyond 2^33 ticks it would overflow. */
	if (!scale || version & 1 || version != c->version || since >> 33)
		return 0;
	since = ((since >> 2) * scale) >> 30;
	return apart < 0 ? base - since : base + since;
}

/* Whether the time since it was due already makes it one of the slowest. */
static __always_inline bool is_late(const struct packet_head *h, __u64 now)
{
	__u32 zero = 0;
	const volatile struct clock *c = bpf_map_lookup_elem(&clock, &zero);
	__u64 sent;

	if (!c || !c->late_ns)
		return false;
	sent = time_of(h->ticks);
	return sent && now > sent && now - sent + h->lag_ns > c->late_ns;
}

/* The packet's own stamp holds the first place. */
static __always_inline void stage_sent(const struct packet_head *h)
{
	__u32 id = packet_id(h), key = id % FLIGHTS;
	struct flight *flight = bpf_map_lookup_elem(&flights, &key);

	if (!flight || flight->id == id)
		return;
	flight->id = id;
	flight->stage = STAGE_SEND;
	flight->ns = time_of(h->ticks);
	flight->device = 0;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(net_dev_queue, struct sk_buff *skb)
{
	struct cpu *cpu = ring_of(KIND_STAGE);
	struct packet_head h;

	if (!cpu || !passes(skb->dev) || !packet_read(skb, ETHERNET + ip_bytes + UDP, &h) ||
	    !is_sampled(packet_id(&h)))
		return 0;
	stage_sent(&h);
	stage(cpu, packet_id(&h), STAGE_QDISC, note_device(skb->dev));
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(net_dev_start_xmit, struct sk_buff *skb, struct net_device *dev)
{
	struct cpu *cpu = ring_of(KIND_STAGE);
	struct packet_head h;

	if (cpu && passes(dev) && packet_read(skb, ETHERNET + ip_bytes + UDP, &h) &&
	    is_sampled(packet_id(&h)))
		stage(cpu, packet_id(&h), STAGE_DRIVER, note_device(dev));
	return 0;
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(netif_receive_skb, struct sk_buff *skb)
{
	struct cpu *cpu = ring_of(KIND_STAGE);
	struct packet_head h;

	if (!cpu)
		return 0;
	cpu->packet = 0;
	if (!passes(skb->dev) || !packet_read(skb, ip_bytes + UDP, &h)) {
		receive_foreign(cpu, skb->dev);
		return 0;
	}
	cpu->ours = 1;
	if (!is_sampled(packet_id(&h)) && !is_late(&h, bpf_ktime_get_ns()))
		return 0;
	stage_sent(&h);
	cpu->packet = 1 + (__u64)packet_id(&h);
	stage(cpu, packet_id(&h), STAGE_STACK, note_device(skb->dev));
	return 0;
}

/* A UDP socket's reader has copied the payload and releases the packet. The tracepoint for
 * freeing its memory does not help: since Linux 6.18 that happens later, on the CPU that sent
 * it. */
SEC("fentry/skb_consume_udp")
int BPF_PROG(skb_consume_udp, struct sock *sk, struct sk_buff *skb)
{
	struct cpu *cpu = ring_of(KIND_STAGE);
	struct packet_head h;

	if (cpu && is_followed(sk->__sk_common.skc_net.net) && packet_read(skb, 0, &h) &&
	    is_sampled(packet_id(&h)))
		stage(cpu, packet_id(&h), STAGE_READ, 0);
	return 0;
}

/* A reader is woken while a packet is being delivered to its socket. */
static __always_inline void stage_waking(struct cpu *cpu, __u32 tid)
{
	__u32 key = tid % THREADS;
	struct thread *thread = bpf_map_lookup_elem(&threads, &key);
	struct reader *reader;

	if (!thread || thread->tid != tid || !thread->reader)
		return;
	key = thread->reader - 1;
	reader = bpf_map_lookup_elem(&readers, &key);
	if (!reader)
		return;
	reader->packet = cpu->packet;
	stage(cpu, (__u32)(cpu->packet - 1), STAGE_WAKE, 0);
}

static __always_inline void stage_running(struct cpu *cpu, const struct thread *thread)
{
	__u32 key = thread->reader - 1;
	struct reader *reader = bpf_map_lookup_elem(&readers, &key);

	if (!reader || !reader->packet)
		return;
	stage(cpu, (__u32)(reader->packet - 1), STAGE_RUN, 0);
	reader->packet = 0;
}

#endif
