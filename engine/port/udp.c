/*
 * udp: UDP sockets. Buffers hold what follows the UDP header; the kernel writes and checks the
 * rest. single: send/recv, one packet per call; batch: recvmmsg, and one segmented sendmsg
 * (segment.h) or, where that is not available, sendmmsg.
 *
 * Each flow has its own socket (a source port, or a source address with
 * IP_TRANSPARENT); flow 0's also receives. A role that only sends connects them,
 * which saves the route look-up of every packet; one that receives must not,
 * because a connected socket takes only its peer's packets. A socket of IPv6 takes
 * only what is sent to the port's address, one of IPv4 to any of the interface.
 */
#include "packet/frame.h"
#include "packet/signatures.h"
#include "port/kernel_filter.h"
#include "port/message_ways.h"
#include "port/port.h"
#include "port/segment.h"
#include "port/socket.h"
#include "refusal/refusal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	UDP_FLOWS_MAX = 1000, /* one socket each; the usual limit is 1024 files */
};

/* include/uapi/linux/udp.h; 4.18 and newer than some libcs' headers. */
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

struct udp_port {
	struct port port;
	int *fds; /* one per flow */
	struct socket_address peer;
	bool connected;
	bool reflects; /* replies go to the sender, not to the peer */
	struct segment segment;
	uint8_t *rx_buffers, *tx_buffers;
	uint32_t rx_stride, tx_stride;
	struct iovec rx_iov[PORT_BURST], tx_iov[PORT_BURST];
	struct mmsghdr rx_msgs[PORT_BURST], tx_msgs[PORT_BURST];
	struct socket_address senders[PORT_BURST];
	uint64_t *rx_queue_full;
	struct kernel_filter *witness; /* of what is received; NULL: none yet */
	struct message_ways *beside; /* where the kernel takes no witness; else NULL */
};

static struct udp_port *udp_of(struct port *port)
{
	return (struct udp_port *)port;
}

/* Frames too big for the MTU must fail, not leave in fragments. And as in frames: how many routers a
 * packet has passed is told by what is left of its TTL. */
static void set_ip(int fd, bool ip6)
{
	int discover = ip6 ? IPV6_PMTUDISC_DO : IP_PMTUDISC_DO, ttl = FRAME_TTL;
	int level = ip6 ? IPPROTO_IPV6 : IPPROTO_IP;
	setsockopt(fd, level, ip6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, &discover,
		   sizeof discover);
	setsockopt(fd, level, ip6 ? IPV6_UNICAST_HOPS : IP_TTL, &ttl, sizeof ttl);
	if (ip6)
		setsockopt(fd, level, IPV6_V6ONLY, &(int){1}, sizeof(int));
}

static int udp_socket(const struct port_config *c, uint32_t flow, int *out, const char **what)
{
	bool ip6 = port_is_ip6(c);
	struct socket_address local = socket_address_of(&in6addr_any, c->udp_port, ip6);
	int one = 1, err;
	int fd = socket(local.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		*what = "create a UDP socket";
		return -errno;
	}
	*what = "bind the UDP socket to the interface";
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, c->interface,
		       (socklen_t)strlen(c->interface)) < 0)
		goto fail;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	set_ip(fd, ip6);
	/* Without an address the kernel would send from the destination, where that is the node's own (RFC
	 * 6724, section 5, rule 1). */
	if (ip6)
		local.ip6.sin6_addr = c->local_ip;
	if (flow && c->flow_field == PORT_FLOW_SOURCE_PORT) {
		local = socket_address_of(&c->local_ip, (uint16_t)(c->udp_port + flow), ip6);
	} else if (flow) {
		struct in6_addr source = address_of_flow(&c->local_ip, flow);
		local = socket_address_of(&source, c->udp_port, ip6);
		*what = "use foreign source addresses (IP_TRANSPARENT)";
		if (setsockopt(fd, ip6 ? IPPROTO_IPV6 : IPPROTO_IP,
			       ip6 ? IPV6_TRANSPARENT : IP_TRANSPARENT, &one, sizeof one) < 0)
			goto fail;
	}
	*what = "bind the UDP socket";
	if (bind(fd, &local.any, local.bytes) < 0) {
		if (errno == EADDRINUSE)
			*what = "bind the UDP socket to a port that is in use";
		if (errno == EADDRNOTAVAIL)
			*what = "bind the UDP socket to an address that the host does not have";
		goto fail;
	}
	*out = fd;
	return 0;
fail:
	err = -errno;
	close(fd);
	return err;
}

static void udp_close(struct port *port)
{
	struct udp_port *u = udp_of(port);
	if (u->witness)
		kernel_filter_detach(u->witness);
	message_ways_free(u->beside);
	for (uint32_t i = 0; u->fds && i < port->config.flows; i++)
		if (u->fds[i] >= 0)
			close(u->fds[i]);
	free(u->fds);
	free(u->rx_buffers);
	free(u->tx_buffers);
	free(u);
}

static void udp_messages(struct udp_port *u)
{
	for (int i = 0; i < PORT_BURST; i++) {
		u->rx_iov[i].iov_base = u->rx_buffers + (size_t)i * u->rx_stride;
		u->rx_iov[i].iov_len = u->rx_stride;
		u->rx_msgs[i].msg_hdr.msg_iov = &u->rx_iov[i];
		u->rx_msgs[i].msg_hdr.msg_iovlen = 1;
		u->tx_msgs[i].msg_hdr.msg_iov = &u->tx_iov[i];
		u->tx_msgs[i].msg_hdr.msg_iovlen = 1;
	}
}

/* Whether a setting of this interface or of all interfaces is on; true if unknown. */
static bool setting(const char *interface, const char *name)
{
	char path[128], value = '1';
	snprintf(path, sizeof path, "/proc/sys/net/ipv4/conf/%s/%s", interface, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	if (read(fd, &value, 1) != 1)
		value = '1';
	close(fd);
	return value != '0';
}

/* A port without a peer only receives; if its packets come from this namespace, the kernel drops
 * them as forged; not those of IPv6 (ip6_rcv_core in net/ipv6/ip6_input.c). */
static void note_martians(struct udp_port *u)
{
	const struct port_config *c = &u->port.config;
	if (!port_is_ip6(c) && !address_given(&c->peer_ip) &&
	    !setting(c->interface, "accept_local") && !setting("all", "accept_local"))
		port_note(&u->port,
			  "net.ipv4.conf.%s.accept_local is 0: packets from an address of this "
			  "namespace are dropped by the kernel",
			  c->interface);
}

/* A kernel without UDP_SEGMENT would ignore the control message and send the burst as one
 * packet. */
static void look_for_segments(struct udp_port *u)
{
	int bytes;
	socklen_t length = sizeof bytes;
	if (getsockopt(u->fds[0], IPPROTO_UDP, UDP_SEGMENT, &bytes, &length) < 0)
		u->segment.refused = true;
	segment_look(&u->segment, &u->port);
}

static int udp_open(const struct port_config *c, struct port **out, char *error, size_t size)
{
	int err = -ENOMEM;
	const char *what = "allocate";
	if (c->flows > UDP_FLOWS_MAX) {
		snprintf(error, size, "udp has a socket for each flow: at most %d flows; use raw",
			 UDP_FLOWS_MAX);
		return -EINVAL;
	}
	struct udp_port *u = calloc(1, sizeof *u);
	if (!u)
		goto fail;
	port_init(&u->port, &port_udp, c);
	u->rx_queue_full = port_drop_counter(&u->port, "rx_queue_full");
	u->rx_stride = FRAME_MAX_BYTES + 46; /* 9064: not a multiple of 4096, for the caches */
	/* No gaps, so that a burst is one piece of memory. */
	u->tx_stride = frame_payload_bytes(c);
	u->rx_buffers = calloc(PORT_BURST, u->rx_stride);
	u->tx_buffers = calloc(PORT_BURST, u->tx_stride);
	u->fds = calloc(c->flows, sizeof *u->fds);
	for (uint32_t i = 0; u->fds && i < c->flows; i++)
		u->fds[i] = -1;
	if (!u->rx_buffers || !u->tx_buffers || !u->fds)
		goto fail;
	for (uint32_t i = 0; i < c->flows; i++) {
		err = udp_socket(c, i, &u->fds[i], &what);
		if (err)
			goto fail;
	}
	socket_buffers(u->fds[0], &u->port);
	socket_busy_poll(u->fds[0], &u->port);
	u->peer = socket_address_of(&c->peer_ip, c->udp_port, port_is_ip6(c));
	udp_messages(u);
	note_martians(u);
	look_for_segments(u);
	snprintf(u->port.mode, sizeof u->port.mode, "socket%s",
		 c->io == PORT_SINGLE ? ""
		 : u->segment.on      ? ", segmented batches"
				      : ", sendmmsg");
	*out = &u->port;
	return 0;
fail:
	/* Foreign addresses need it. */
	refusal_say(error, size, err, CAP_NET_ADMIN, "cannot %s on %s", what, c->interface);
	if (u)
		udp_close(&u->port);
	return err;
}

static int udp_connect(struct udp_port *u, bool connected)
{
	const struct socket_address none = {.any.sa_family = AF_UNSPEC, .bytes = u->peer.bytes};
	for (uint32_t i = 0; i < u->port.config.flows; i++) {
		const struct socket_address *to = connected ? &u->peer : &none;
		if (connect(u->fds[i], &to->any, to->bytes) < 0)
			return -errno;
	}
	u->connected = connected;
	return 0;
}

static int udp_start(struct port *port, unsigned directions)
{
	struct udp_port *u = udp_of(port);
	bool only_tx = directions == PORT_TX;
	uint8_t scratch[1];
	u->reflects = directions & PORT_REFLECT;
	look_for_segments(u);
	if (only_tx != u->connected) {
		int err = udp_connect(u, only_tx);
		if (err)
			return err;
	}
	while (recv(u->fds[0], scratch, sizeof scratch, MSG_DONTWAIT) >= 0 || errno == ECONNREFUSED)
		;
	for (int i = 0; i < PORT_BURST; i++) {
		u->senders[i].bytes = u->peer.bytes;
		u->rx_msgs[i].msg_hdr.msg_name = u->reflects ? &u->senders[i].any : NULL;
		u->rx_msgs[i].msg_hdr.msg_namelen = u->reflects ? u->peer.bytes : 0;
	}
	return 0;
}

static unsigned udp_rx_none(struct udp_port *u)
{
	if (__builtin_expect(u->beside != NULL, 0))
		message_ways_idle(u->beside);
	return 0;
}

static unsigned udp_rx_looking(struct udp_port *u, struct packet *burst, unsigned max)
{
	unsigned lengths[PORT_BURST];
	unsigned most = u->port.config.io == PORT_SINGLE ? 1 : max;
	int n = message_ways_receive(u->beside, u->rx_iov, most, lengths);
	for (int i = 0; i < n; i++)
		burst[i] = (struct packet){
			.data = u->rx_iov[i].iov_base, .length = lengths[i], .handle = (uint64_t)i};
	return n < 0 ? 0 : (unsigned)n;
}

static unsigned udp_rx_burst(struct port *port, struct packet *burst, unsigned max)
{
	struct udp_port *u = udp_of(port);
	if (__builtin_expect(u->beside != NULL, 0) && message_ways_looks(u->beside))
		return udp_rx_looking(u, burst, max);
	if (port->config.io == PORT_SINGLE) {
		ssize_t n;
		if (u->reflects) {
			socklen_t length = u->peer.bytes;
			n = recvfrom(u->fds[0], u->rx_buffers, u->rx_stride, MSG_DONTWAIT,
				     &u->senders[0].any, &length);
		} else {
			n = recv(u->fds[0], u->rx_buffers, u->rx_stride, MSG_DONTWAIT);
		}
		if (n < 0)
			return udp_rx_none(u);
		burst[0] = (struct packet){.data = u->rx_buffers, .length = (uint32_t)n};
		return 1;
	}
	int n = recvmmsg(u->fds[0], u->rx_msgs, max, MSG_DONTWAIT, NULL);
	if (n < 0)
		return udp_rx_none(u);
	for (int i = 0; i < n; i++)
		burst[i] = (struct packet){.data = u->rx_iov[i].iov_base,
					   .length = u->rx_msgs[i].msg_len,
					   .handle = (uint64_t)i};
	return (unsigned)n;
}

static void udp_rx_release(struct port *port, struct packet *burst, unsigned count)
{
	(void)port, (void)burst, (void)count; /* the next call uses the buffers again */
}

static unsigned udp_tx_acquire(struct port *port, struct packet *burst, unsigned count)
{
	struct udp_port *u = udp_of(port);
	uint32_t bytes = frame_payload_bytes(&port->config);
	for (unsigned i = 0; i < count; i++)
		burst[i] = (struct packet){.data = u->tx_buffers + (size_t)i * u->tx_stride,
					   .length = bytes,
					   .capacity = bytes};
	return count;
}

static void udp_tx_release(struct port *port, struct packet *burst, unsigned count)
{
	(void)port, (void)burst, (void)count;
}

/* Describes the packets in as few pieces of memory as possible. */
static unsigned gather(struct iovec *iov, const struct packet *burst, unsigned count)
{
	unsigned pieces = 0;
	iov[0] = (struct iovec){burst[0].data, burst[0].length};
	for (unsigned i = 1; i < count; i++) {
		struct iovec *last = &iov[pieces];
		if ((uint8_t *)last->iov_base + last->iov_len == burst[i].data)
			last->iov_len += burst[i].length;
		else
			iov[++pieces] = (struct iovec){burst[i].data, burst[i].length};
	}
	return pieces + 1;
}

/* One call for `count` packets of one flow and length; all or none are sent. */
static ssize_t send_segmented(struct udp_port *u, const struct packet *burst, unsigned count)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(uint16_t))] = {0};
	uint16_t bytes = (uint16_t)burst[0].length;
	struct msghdr message = {
		.msg_name = u->connected ? NULL : &u->peer.any,
		.msg_namelen = u->connected ? 0 : u->peer.bytes,
		.msg_iov = u->tx_iov,
		.msg_iovlen = gather(u->tx_iov, burst, count),
		.msg_control = control,
		.msg_controllen = sizeof control,
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	c->cmsg_level = IPPROTO_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof bytes);
	memcpy(CMSG_DATA(c), &bytes, sizeof bytes);
	return sendmsg(u->fds[burst[0].flow], &message, MSG_DONTWAIT);
}

/* Sends the packets from the first that share its flow. If the socket is not connected, each goes
 * to its own address. */
static int udp_send(struct udp_port *u, struct packet *burst, unsigned count, bool reflect,
		    bool segments)
{
	struct socket_address *to = u->connected ? NULL : &u->peer;
	int fd = u->fds[burst[0].flow];
	if (u->port.config.io == PORT_SINGLE) {
		if (reflect)
			to = &u->senders[burst[0].handle];
		ssize_t n = sendto(fd, burst[0].data, burst[0].length, MSG_DONTWAIT,
				   to ? &to->any : NULL, to ? to->bytes : 0);
		return n < 0 ? socket_send_error() : 1;
	}
	if (u->segment.on && segments) {
		unsigned run = segment_run(burst, count, 0);
		if (run > 1) {
			if (send_segmented(u, burst, run) >= 0)
				return (int)run;
			if (!segment_failed(&u->segment, &u->port))
				return socket_send_error();
		}
	}
	unsigned same = 1;
	while (same < count && burst[same].flow == burst[0].flow)
		same++;
	for (unsigned i = 0; i < same; i++) {
		if (reflect)
			to = &u->senders[burst[i].handle];
		u->tx_iov[i] = (struct iovec){burst[i].data, burst[i].length};
		u->tx_msgs[i].msg_hdr.msg_name = to ? &to->any : NULL;
		u->tx_msgs[i].msg_hdr.msg_namelen = to ? to->bytes : 0;
	}
	int n = sendmmsg(fd, u->tx_msgs, same, MSG_DONTWAIT);
	return n < 0 ? socket_send_error() : n;
}

static int udp_send_all(struct udp_port *u, struct packet *burst, unsigned count, bool reflect,
			bool segments)
{
	unsigned sent = 0;
	while (sent < count) {
		int n = udp_send(u, burst + sent, count - sent, reflect, segments);
		if (n <= 0)
			return sent ? (int)sent : n;
		sent += (unsigned)n;
	}
	return (int)sent;
}

static int udp_tx_commit(struct port *port, struct packet *burst, unsigned count)
{
	return udp_send_all(udp_of(port), burst, count, false, true);
}

/* The kernel copies from any memory, so it can send another port's buffers directly. The port is at
 * the same place in addresses of both IP versions. */
static int udp_tx_forward(struct port *port, struct packet *burst, unsigned count)
{
	struct udp_port *u = udp_of(port);
	for (unsigned i = 0; u->reflects && i < count; i++)
		u->senders[burst[i].handle].ip4.sin_port = u->peer.ip4.sin_port;
	return udp_send_all(u, burst, count, u->reflects, false);
}

static unsigned udp_pollfds(struct port *port, struct pollfd *fds, bool want_tx)
{
	fds[0] = (struct pollfd){.fd = udp_of(port)->fds[0],
				 .events = (short)(POLLIN | (want_tx ? POLLOUT : 0))};
	return 1;
}

static void udp_refresh(struct port *port)
{
	struct udp_port *u = udp_of(port);
	*u->rx_queue_full = socket_drops(u->fds[0]);
}

static int udp_ways_begin(struct port *port, char *error, size_t size)
{
	struct udp_port *u = udp_of(port);
	struct signature_flows flows = signature_flows_of(&port->config);
	if (u->witness)
		return kernel_filter_forget(u->witness);
	int err = kernel_filter_witness(&u->witness, u->fds[0], &flows, error, size);
	if (!err)
		return 0;
	if (!u->beside)
		u->beside = message_ways_new(u->fds[0], &port->config);
	return u->beside && message_ways_begin(u->beside) == 0 ? PORT_WAYS_BESIDE : err;
}

static int udp_ways_read(struct port *port, struct signatures *out)
{
	struct udp_port *u = udp_of(port);
	if (u->witness)
		return kernel_filter_read(u->witness, out);
	message_ways_read(u->beside, out);
	return 0;
}

const struct port_ops port_udp = {
	.name = "udp",
	.layer = PORT_PAYLOAD,
	.needs_peer = true,
	.open = udp_open,
	.close = udp_close,
	.start = udp_start,
	.rx_burst = udp_rx_burst,
	.rx_release = udp_rx_release,
	.tx_acquire = udp_tx_acquire,
	.tx_commit = udp_tx_commit,
	.tx_release = udp_tx_release,
	.tx_forward = udp_tx_forward,
	.pollfds = udp_pollfds,
	.refresh = udp_refresh,
	.ways_begin = udp_ways_begin,
	.ways_read = udp_ways_read,
};
