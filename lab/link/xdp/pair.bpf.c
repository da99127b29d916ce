// SPDX-License-Identifier: Apache-2.0
/*
 * Point to point: frames that arrive at one device of the fabric leave by the other.
 *
 *   node A ──veth── [fabric A: this program] ──redirect──▸ fabric B ──veth── node B
 *
 * It is loaded once for each direction, with a map of one device. The kernel sends
 * redirected packets in bulks of 16 at the end of a NAPI poll (DEV_MAP_BULK_SIZE).
 * It needs no counters: veth counts frames passed to a program, redirected and
 * dropped for lack of room (ethtool -S).
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} other SEC(".maps");

/* "frags", so that a veth with jumbo frames larger than a page accepts it too. */
SEC("xdp.frags")
int pair(struct xdp_md *ctx)
{
	(void)ctx;
	return bpf_redirect_map(&other, 0, XDP_DROP);
}

char _license[] SEC("license") = "Apache-2.0";
