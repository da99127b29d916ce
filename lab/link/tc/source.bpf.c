// SPDX-License-Identifier: Apache-2.0
/*
 * At a port of the management bridge: what a node sends there has the node's own addresses, or is dropped. So no
 * node can take another's place, or the host's, whatever root in it does.
 *
 *   Ethernet  the source is the node's MAC address, and there is no tag of a VLAN
 *   IPv4      the source is an address of the node, or it asks a DHCP server for one (RFC 2131, 4.1)
 *   ARP       so are both addresses of the sender; 0.0.0.0 asks who has an address (RFC 5227, 2.1.1)
 *   IPv6      the source is an address of the node, or none, and so is the target of an advertisement
 *             (RFC 4861, 4.4); its link-local one is made of the MAC address (RFC 4862, 5.3)
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* Set by the loader: the node's MAC address, in memory order, then zero. */
volatile const __u64 own_mac;

struct address {
	__u8 bytes[16];
};

/* The node's addresses; those of IPv4 as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2). Without any of IPv4 the plan does not
 * know which a DHCP server gives to the node. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct address);
	__type(value, __u32);
} own_addresses SEC(".maps");
volatile const __u32 any_ipv4;

enum { AT_NETWORK = ETH_HLEN, ADVERTISEMENT = 136, DHCP_CLIENT = 68, DHCP_SERVER = 67 };

static __always_inline __u64 mac_of(const __u8 *bytes)
{
	__u64 mac = 0;

	__builtin_memcpy(&mac, bytes, ETH_ALEN);
	return mac;
}

static __always_inline int is_own(const struct address *a)
{
	return bpf_map_lookup_elem(&own_addresses, a) != NULL;
}

static __always_inline int is_own_ipv4(__u32 address)
{
	struct address a = {.bytes = {[10] = 0xff, [11] = 0xff}};

	__builtin_memcpy(a.bytes + 12, &address, 4);
	return any_ipv4 || is_own(&a);
}

static __always_inline int may_ipv4(struct __sk_buff *skb)
{
	struct iphdr ip;
	struct udphdr udp;

	if (bpf_skb_load_bytes(skb, AT_NETWORK, &ip, sizeof(ip)) < 0)
		return 0;
	if (ip.saddr != 0)
		return is_own_ipv4(ip.saddr);
	if (ip.protocol != IPPROTO_UDP || (ip.frag_off & bpf_htons(0x1fff)) ||
	    bpf_skb_load_bytes(skb, AT_NETWORK + ip.ihl * 4, &udp, sizeof(udp)) < 0)
		return 0;
	return udp.source == bpf_htons(DHCP_CLIENT) && udp.dest == bpf_htons(DHCP_SERVER);
}

/* A message of ARP for Ethernet and IPv4 (RFC 826). */
struct arp {
	__u8 kinds[8];
	__u8 sender_mac[ETH_ALEN];
	__u8 sender_ip[4];
};

static __always_inline int may_arp(struct __sk_buff *skb)
{
	struct arp arp;
	__u32 sender;

	if (bpf_skb_load_bytes(skb, AT_NETWORK, &arp, sizeof(arp)) < 0 ||
	    mac_of(arp.sender_mac) != own_mac)
		return 0;
	__builtin_memcpy(&sender, arp.sender_ip, 4);
	return sender == 0 || is_own_ipv4(sender);
}

static __always_inline int may_ipv6(struct __sk_buff *skb)
{
	struct ipv6hdr ip;
	struct address a;
	__u8 type;

	if (bpf_skb_load_bytes(skb, AT_NETWORK, &ip, sizeof(ip)) < 0)
		return 0;
	__builtin_memcpy(&a, &ip.saddr, sizeof(a));
	if ((ip.saddr.in6_u.u6_addr32[0] | ip.saddr.in6_u.u6_addr32[1] |
	     ip.saddr.in6_u.u6_addr32[2] | ip.saddr.in6_u.u6_addr32[3]) != 0 &&
	    !is_own(&a))
		return 0;
	if (ip.nexthdr != IPPROTO_ICMPV6)
		return 1;
	if (bpf_skb_load_bytes(skb, AT_NETWORK + sizeof(ip), &type, 1) < 0)
		return 0;
	if (type != ADVERTISEMENT)
		return 1;
	return bpf_skb_load_bytes(skb, AT_NETWORK + sizeof(ip) + 8, &a, sizeof(a)) == 0 &&
	       is_own(&a);
}

SEC("tc")
int from_node(struct __sk_buff *skb)
{
	struct ethhdr eth;
	int may = 1;

	if (skb->vlan_present || bpf_skb_load_bytes(skb, 0, &eth, sizeof(eth)) < 0 ||
	    mac_of(eth.h_source) != own_mac)
		return TC_ACT_SHOT;
	switch (eth.h_proto) {
	case bpf_htons(ETH_P_IP):
		may = may_ipv4(skb);
		break;
	case bpf_htons(ETH_P_ARP):
		may = may_arp(skb);
		break;
	case bpf_htons(ETH_P_IPV6):
		may = may_ipv6(skb);
		break;
	case bpf_htons(ETH_P_8021Q):
	case bpf_htons(ETH_P_8021AD):
		may = 0;
		break;
	}
	return may ? TC_ACT_UNSPEC : TC_ACT_SHOT;
}

char _license[] SEC("license") = "Apache-2.0";
