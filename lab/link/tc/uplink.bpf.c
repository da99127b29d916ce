// SPDX-License-Identifier: Apache-2.0
/*
 * A bridge between an interface of the host and a management network, that leaves the interface's
 * addresses, routes and connections where they are:
 *
 *            from_segment ──┐                        ┌── from_nodes
 *   segment ══ uplink ══════╪══ PREFIX-mgmt ──veth───┼── bridge in the fabric ── nodes
 *               │           │
 *   host's stack┘ from_host ┘
 *
 * What comes from the segment or the host goes to the nodes if it is for a node, also to the nodes if it
 * is for a group, and on its way as without the program otherwise. What comes from the nodes goes to the
 * host if it has the uplink's address, to both the host and the segment if it is for a group, and else to
 * the segment. Where the pair is gone, frames for nodes are lost, and all others pass.
 *
 * Nodes send untagged frames from their own addresses only, and none of the protocols that end at a
 * bridge (IEEE 802.1Q, table 8-1): a switch that protects its ports would take the host off the network.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

/* Set by the loader: interface indexes, and the uplink's address as in addresses. */
volatile const __u32 uplink_index;
volatile const __u32 nodes_index;
volatile const __u64 uplink_address;

/* The nodes' addresses: 6 bytes in memory order, then zero. A bridge has 1024 ports at most. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u32);
} node_addresses SEC(".maps");

/*
 * tc_index of a frame that from_nodes hands to the host: from_segment, of this lab and of others on the
 * uplink, then lets it pass. The kernel keeps the field on this way, and uses it for nothing.
 */
enum { FROM_NODES = 0x6e39 };

struct frame {
	__u64 to, from;
	int for_group, for_bridge;
};

/* Those that end at a bridge, 01:80:c2:00:00:00 to 0f, as they are in a number of a little-endian machine. */
#define BRIDGE_GROUP	  0x0000c28001ULL
#define BRIDGE_GROUP_MASK 0xf0ffffffffffULL

static __always_inline int frame__parse(struct __sk_buff *skb, struct frame *f)
{
	struct ethhdr eth;

	/* A tag of VLAN 0 has a priority only (IEEE 802.1Q, 9.6). */
	if (skb->vlan_present && (skb->vlan_tci & 0xfff))
		return -1;
	if (bpf_skb_load_bytes(skb, 0, &eth, sizeof(eth)) < 0)
		return -1;
	f->to = f->from = 0;
	__builtin_memcpy(&f->to, eth.h_dest, ETH_ALEN);
	__builtin_memcpy(&f->from, eth.h_source, ETH_ALEN);
	f->for_group = eth.h_dest[0] & 1;
	f->for_bridge = (f->to & BRIDGE_GROUP_MASK) == BRIDGE_GROUP;
	return 0;
}

static __always_inline int is_node(__u64 address)
{
	return bpf_map_lookup_elem(&node_addresses, &address) != 0;
}

/* What is not for nodes alone goes on, also through other programs at the uplink. */
static __always_inline int pass_to_nodes(struct __sk_buff *skb, const struct frame *f)
{
	if (f->for_group && !f->for_bridge && !is_node(f->from))
		bpf_clone_redirect(skb, nodes_index, 0);
	if (!f->for_group && is_node(f->to))
		return bpf_redirect(nodes_index, 0);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int from_segment(struct __sk_buff *skb)
{
	struct frame f;

	if (skb->tc_index == FROM_NODES || frame__parse(skb, &f))
		return TC_ACT_UNSPEC;
	return pass_to_nodes(skb, &f);
}

SEC("tc")
int from_host(struct __sk_buff *skb)
{
	struct frame f;

	/* What the nodes send to the segment comes by here, too. */
	if (skb->ingress_ifindex == nodes_index || frame__parse(skb, &f))
		return TC_ACT_UNSPEC;
	return pass_to_nodes(skb, &f);
}

SEC("tc")
int from_nodes(struct __sk_buff *skb)
{
	struct frame f;

	/* The bridge has sent what is for a node to that node. */
	if (frame__parse(skb, &f) || !is_node(f.from) || f.for_bridge || is_node(f.to))
		return TC_ACT_SHOT;
	if (f.for_group || f.to == uplink_address)
		skb->tc_index = FROM_NODES;
	if (f.to == uplink_address)
		return bpf_redirect(uplink_index, BPF_F_INGRESS);
	if (f.for_group) {
		bpf_clone_redirect(skb, uplink_index, BPF_F_INGRESS);
		skb->tc_index = 0;
	}
	return bpf_redirect(uplink_index, 0);
}

char _license[] SEC("license") = "Apache-2.0";
