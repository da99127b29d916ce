package ended

import "strings"

// reasons say what the kernel's names mean, and what to do.
var reasons = []struct{ name, means, remedy string }{
	{"NO_SOCKET", "no program listens on their UDP port there", "start one, or see whether it listens on this address and port"},
	{"SOCKET_RCVBUFF", "the socket's receive buffer was full", "the program reads too slowly, or not at all"},
	{"SOCKET_FILTER", "a socket's filter refused them", ""},
	{"UDP_CSUM", "their UDP checksum is wrong", "a program that changes packets must keep it right (RFC 1624)"},
	{"IP_CSUM", "their IP checksum is wrong", "a program that changes packets must keep it right (RFC 1624)"},
	{"SKB_CSUM", "their checksum is wrong", "a program that changes packets must keep it right (RFC 1624)"},
	{"IP_RPFILTER", "the reverse path filter: their source address is not reached by this interface", "set net.ipv4.conf.all.rp_filter=0 and that of the interface"},
	{"IP_INVALID_SOURCE", "their source address is invalid here", ""},
	{"IP_LOCAL_SOURCE", "their source address is this node's own", "set net.ipv4.conf.all.accept_local=1"},
	{"OTHERHOST", "their destination MAC address is of another interface", "leaves: unchanged, forwarded or routed say which one they carry"},
	{"PKT_TOO_BIG", "they are larger than the MTU", "raise the MTU behind the tunnel, or send smaller frames"},
	{"NEIGH_FAILED", "the neighbour did not answer ARP, or the neighbour solicitation of IPv6", "give the next hop an address in the subnet, or a permanent neighbour"},
	{"NEIGH_QUEUEFULL", "the neighbour has not answered ARP yet, or the neighbour solicitation of IPv6", "give the next hop an address in the subnet, or a permanent neighbour"},
	{"IP_OUTNOROUTES", "no route leads on", "add one under routes"},
	{"IP_INNOROUTES", "no route leads on", "add one under routes"},
	{"IP_INADDRERRORS", "their address is not this node's, and its kernel does not forward", "app: {kind: device, forwarding: kernel} lets it"},
	{"IPV6DISABLED", "IPv6 is off on the interface", "list an IPv6 address for it in addresses"},
	{"IPV6_BAD_EXTHDR", "an extension header of IPv6 is wrong", ""},
	{"NETFILTER_DROP", "a rule of netfilter dropped them", "nft list ruleset in the node shows it, with counters"},
	{"XDP_REDIRECT", "an XDP program redirected them to this interface, and its peer takes no XDP frames", "turn GRO on at the peer (gro: true on the link), or attach an XDP program there (veth_xdp_xmit of drivers/net/veth.c)"},
	{"XDP_REFUSED", "an XDP program there redirected them to an interface that takes no XDP frames", "a veth takes them while its other end has GRO, which gro: true on its link turns on, or an XDP program"},
	{"XDP_ABORTED", "an XDP program aborted", ""},
	{"XDP", "an XDP program dropped them", ""},
	{"TC_INGRESS", "a program of tc dropped them", ""},
	{"TC_EGRESS", "a program of tc dropped them", ""},
	{"QDISC_DROP", "a queueing discipline was full", ""},
	{"FULL_RING", "the interface's ring was full", ""},
	{"CPU_BACKLOG", "the CPU's backlog was full", ""},
	{"DEV_READY", "the interface is down", ""},
	{"UNHANDLED_PROTO", "nothing in the node takes frames of this kind", ""},
}

// Why says in words why packets ended; the kernel's name stands beside them.
func (e End) Why() string {
	for _, r := range reasons {
		if e.Reason != r.name && !strings.HasPrefix(e.Reason, r.name+" ") {
			continue
		}
		text := r.means + " (" + e.Reason + ")"
		if r.remedy != "" {
			text += ": " + r.remedy
		}
		return text
	}
	return "the kernel dropped them (" + e.Reason + ")"
}
