/* What the kernel tells beside the messages of a UDP socket; see message_ways.h. ip(7), ipv6(7). */
#include "port/message_ways.h"

#include "packet/payload.h"
#include "packet/signatures.h"
#include "port/socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	CONTROL_BYTES = 256, /* more than three options take */
	UDP_HEADER = 8,
	IP4_HEADER = 20,
	IP6_HEADER = 40,
};

struct message_ways {
	int fd;
	bool ip6, looks, told; /* told: the socket is */
	uint16_t udp_port;
	struct signature_flows flows;
	struct signatures table;
	struct mmsghdr messages[PORT_BURST];
	struct socket_address senders[PORT_BURST];
	_Alignas(struct cmsghdr) uint8_t control[PORT_BURST][CONTROL_BYTES];
};

struct message_ways *message_ways_new(int fd, const struct port_config *c)
{
	struct message_ways *w = calloc(1, sizeof *w);
	if (!w)
		return NULL;
	w->fd = fd;
	w->ip6 = port_is_ip6(c);
	w->udp_port = c->udp_port;
	w->flows = signature_flows_of(c);
	return w;
}

void message_ways_free(struct message_ways *w)
{
	free(w);
}

static int tell(struct message_ways *w, int on)
{
	static const int of_ip4[] = {IP_RECVTTL, IP_PKTINFO, IP_RECVTOS};
	static const int of_ip6[] = {IPV6_RECVHOPLIMIT, IPV6_RECVPKTINFO, IPV6_RECVTCLASS};
	for (unsigned i = 0; i < sizeof of_ip4 / sizeof of_ip4[0]; i++)
		if (setsockopt(w->fd, w->ip6 ? IPPROTO_IPV6 : IPPROTO_IP,
			       w->ip6 ? of_ip6[i] : of_ip4[i], &on, sizeof on) < 0)
			return -errno;
	w->told = on;
	return 0;
}

int message_ways_begin(struct message_ways *w)
{
	memset(&w->table, 0, sizeof w->table);
	int err = tell(w, 1);
	w->looks = !err;
	return err;
}

bool message_ways_looks(const struct message_ways *w)
{
	return w->looks;
}

void message_ways_idle(struct message_ways *w)
{
	if (w->told && !w->looks)
		tell(w, 0);
}

static int number(const struct cmsghdr *c)
{
	int n = 0;
	memcpy(&n, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0) < sizeof n ? 1 : sizeof n);
	return n;
}

static void read_address(unsigned to[4], const struct in6_addr *a)
{
	memcpy(to, a, sizeof *a);
}

static void read_control(struct signature_fields *f, struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL)
			f->ttl = (unsigned char)number(c);
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS)
			f->tos = (unsigned char)number(c);
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT)
			f->ttl = (unsigned char)number(c);
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)
			f->tos = (unsigned char)number(c);
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo info;
			memcpy(&info, CMSG_DATA(c), sizeof info);
			struct in6_addr to = address_of_ip4(info.ipi_addr.s_addr);
			read_address(f->ip_destination, &to);
		}
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo info;
			memcpy(&info, CMSG_DATA(c), sizeof info);
			read_address(f->ip_destination, &info.ipi6_addr);
		}
	}
}

/* Counts a message with a stamp, until one that is measured; probes are, and nobody minds what they
 * cost. */
static void count(struct message_ways *w, unsigned i, const uint8_t *data, unsigned length)
{
	enum { MARK_AT = 4, FLAGS_AT = 5 };
	const struct socket_address *from = &w->senders[i];
	struct signature s = {};
	if (length < PAYLOAD_BYTES || data[MARK_AT] != PAYLOAD_MARK)
		return;
	if ((data[FLAGS_AT] & (PAYLOAD_MEASURED | PAYLOAD_PROBE)) == PAYLOAD_MEASURED) {
		w->looks = false;
		return;
	}
	read_control(&s.fields, &w->messages[i].msg_hdr);
	struct in6_addr source =
		w->ip6 ? from->ip6.sin6_addr : address_of_ip4(from->ip4.sin_addr.s_addr);
	read_address(s.fields.ip_source, &source);
	s.fields.udp_source = from->ip4.sin_port; /* at the same place for both versions */
	s.fields.udp_destination = htons(w->udp_port);
	s.fields.ip_length =
		htons((uint16_t)(length + UDP_HEADER + (w->ip6 ? IP6_HEADER : IP4_HEADER)));
	signature_join_flows(&s, &w->flows);
	signatures_add(&w->table, &s, 1);
}

int message_ways_receive(struct message_ways *w, struct iovec *into, unsigned max,
			 unsigned *lengths)
{
	for (unsigned i = 0; i < max; i++)
		w->messages[i].msg_hdr = (struct msghdr){
			.msg_name = &w->senders[i].any,
			.msg_namelen = sizeof w->senders[i].ip6,
			.msg_iov = &into[i],
			.msg_iovlen = 1,
			.msg_control = w->control[i],
			.msg_controllen = CONTROL_BYTES,
		};
	int n = recvmmsg(w->fd, w->messages, max, MSG_DONTWAIT, NULL);
	for (int i = 0; i < n; i++) {
		lengths[i] = w->messages[i].msg_len;
		if (w->looks)
			count(w, (unsigned)i, into[i].iov_base, lengths[i]);
	}
	return n;
}

void message_ways_read(const struct message_ways *w, struct signatures *out)
{
	*out = w->table;
}
