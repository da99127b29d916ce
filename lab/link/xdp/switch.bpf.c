// SPDX-License-Identifier: Apache-2.0
/*
 * A learning switch: the program sits on the fabric's end of each port's veth pair.
 *
 *   1. learn: the source address is behind the device at which the packet arrived;
 *   2. look up the destination. Known: redirect to its device, or drop the packet if it
 *      came from there. Unknown, multicast or broadcast: send to all other ports.
 *
 * The map gets all nodes' addresses when the link is made, so the switch knows them
 * when a trial begins. An entry is written only if it changes, so that ports do not
 * contend for its cache line.
 *
 * A switch of strangers, such as pods, does not learn: each port has the address that
 * it was made with, so that nobody draws the packets of another to himself.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

/* Indexes of switch_counters: frames by what was done with them. */
enum { COUNT_FORWARDED, COUNT_FLOODED, COUNT_DROPPED, COUNTERS };

/* The most addresses that the switch can learn; further ones are flooded. */
enum { MAX_ADDRESSES = 16384 };

/* The most ports of a switch; the loader sets the number that the link has. */
enum { MAX_PORTS = 4096 };

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, MAX_PORTS);
	__type(key, __u32); /* interface index */
	__type(value, __u32);
} switch_ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_ADDRESSES);
	__type(key, __u64); /* the address's 6 bytes, in memory order, then zero */
	__type(value, __u32);
} switch_addresses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} switch_counters SEC(".maps");

/* Set before the program is loaded: no port's address is learnt. */
const volatile bool switch_fixed;

static __always_inline void switch__count(__u32 which)
{
	__u64 *count = bpf_map_lookup_elem(&switch_counters, &which);

	if (count)
		*count += 1;
}

static __always_inline __u64 switch__address(const unsigned char *mac)
{
	__u64 key = 0;

	__builtin_memcpy(&key, mac, ETH_ALEN);
	return key;
}

static __always_inline void switch__learn(const struct ethhdr *eth, __u32 port)
{
	__u64 key = switch__address(eth->h_source);
	__u32 *known = bpf_map_lookup_elem(&switch_addresses, &key);

	/* IEEE 802: an address with the group bit cannot be a station's. */
	if (eth->h_source[0] & 1)
		return;
	if (!known)
		bpf_map_update_elem(&switch_addresses, &key, &port, BPF_NOEXIST);
	else if (*known != port)
		*known = port;
}

static __always_inline int switch__flood(void)
{
	switch__count(COUNT_FLOODED);
	return bpf_redirect_map(&switch_ports, 0, BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS);
}

SEC("xdp.frags")
int learning_switch(struct xdp_md *ctx)
{
	const struct ethhdr *eth = (void *)(long)ctx->data;
	__u32 in = ctx->ingress_ifindex;
	__u32 *out;
	__u64 key;

	if ((void *)(eth + 1) > (void *)(long)ctx->data_end) {
		switch__count(COUNT_DROPPED);
		return XDP_DROP;
	}
	if (!switch_fixed)
		switch__learn(eth, in);
	if (eth->h_dest[0] & 1)
		return switch__flood();
	key = switch__address(eth->h_dest);
	out = bpf_map_lookup_elem(&switch_addresses, &key);
	if (!out)
		return switch__flood();
	if (*out == in) {
		switch__count(COUNT_DROPPED);
		return XDP_DROP;
	}
	switch__count(COUNT_FORWARDED);
	return bpf_redirect_map(&switch_ports, *out, XDP_DROP);
}

char _license[] SEC("license") = "Apache-2.0";
