package spec

import (
	"path"
	"slices"
)

// ipcSysctls are the sysctls outside net that belong to one of a node's namespaces: ipc
// (ipc/ipc_sysctl.c, ipc/mq_sysctl.c) and uts.
var ipcSysctls = []string{
	"kernel.domainname", "kernel.hostname", "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni",
	"kernel.sem", "kernel.shm_rmid_forced", "kernel.shmall", "kernel.shmmax", "kernel.shmmni",
}

// hostNetworkSysctls are patterns of the sysctls below net that a host has once, whatever its namespaces: a namespace has
// none of the name, or may only read it (net/core/sysctl_net_core.c, net/ipv4/sysctl_net_ipv4.c, net/ipv4/route.c,
// net/core/neighbour.c, net/ipv6/sysctl_net_ipv6.c, up to Linux 6.18). What only some kernels share, a lab's start finds.
var hostNetworkSysctls = []string{
	"net.core.bpf_jit_*", "net.core.busy_*", "net.core.default_qdisc", "net.core.dev_weight*", "net.core.devconf_inherit_init_net",
	"net.core.fb_tunnels_only_for_init_net", "net.core.flow_limit_*", "net.core.gro_normal_batch",
	"net.core.high_order_alloc_disable", "net.core.max_skb_frags", "net.core.mem_pcpu_rsv", "net.core.message_*",
	"net.core.netdev_*", "net.core.rps_sock_flow_entries", "net.core.skb_defer_max", "net.core.warnings",
	"net.core.rmem_default", "net.core.rmem_max", "net.core.wmem_default", "net.core.wmem_max",
	"net.ipv4.cipso_*", "net.ipv4.fib_sync_mem", "net.ipv4.inet_peer_*", "net.ipv4.ipfrag_secret_interval",
	"net.ipv4.neigh.default.*", "net.ipv6.neigh.default.*",
	"net.ipv4.route.error_*", "net.ipv4.route.gc_*", "net.ipv4.route.max_size", "net.ipv4.route.redirect_*",
	"net.ipv4.tcp_allowed_congestion_control", "net.ipv4.tcp_available_*", "net.ipv4.tcp_low_latency",
	"net.ipv4.tcp_max_orphans", "net.ipv4.tcp_mem", "net.ipv4.udp_mem",
	"net.ipv6.calipso_*", "net.ipv6.ip6frag_secret_interval", "net.ipv6.mld_max_msf", "net.ipv6.mld_qrv",
	"net.netfilter.nf_conntrack_buckets", "net.netfilter.nf_log_all_netns",
}

// sharedByNetworks is true for a sysctl below net, with dots, that no network namespace has for itself.
func sharedByNetworks(dotted string) bool {
	return slices.ContainsFunc(hostNetworkSysctls, func(pattern string) bool {
		is, err := path.Match(pattern, dotted)
		return is && err == nil
	})
}
