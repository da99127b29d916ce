/*
 * raw: AF_PACKET sockets, whole frames. single: send/recv, one per call; batch: recvmmsg, and one
 * segmented sendmsg (segment.h) or, where that is not available, sendmmsg.
 *
 * Segmented bursts have their own socket, because PACKET_QDISC_BYPASS drops whatever must be
 * segmented (__dev_direct_xmit in net/core/dev.c). Interfaces that get them have no queueing
 * discipline to bypass.
 *
 * A local sender's UDP checksum may still be partial when it arrives over veth; frames with exactly
 * the partial sum count as good. (PACKET_AUXDATA would tell for certain, but costs a control
 * message per packet; 1 of 65,536 damaged frames passes as one with a partial sum.)
 */
#include "packet/frame.h"
#include "port/packet_socket.h"
#include "port/port.h"
#include "port/segment.h"
#include "port/socket.h"
#include "refusal/refusal.h"

#include <errno.h>
#include <linux/capability.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct raw_port {
	struct port port;
	int rx_fd, tx_fd, segment_fd;
	struct segment segment;
	struct packet_socket_plug plug;
	uint8_t *rx_buffers, *tx_buffers;
	uint32_t rx_stride, tx_stride;
	struct iovec rx_iov[PORT_BURST], tx_iov[PORT_BURST + 1];
	struct mmsghdr rx_msgs[PORT_BURST], tx_msgs[PORT_BURST];
	uint8_t joined[8192]; /* the payloads of a segmented burst */
	uint64_t *rx_queue_full;
};

static struct raw_port *raw_of(struct port *port)
{
	return (struct raw_port *)port;
}

static void raw_close(struct port *port)
{
	struct raw_port *r = raw_of(port);
	int fds[] = {r->rx_fd, r->tx_fd, r->segment_fd};
	packet_socket_unplug(&r->plug);
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(r->rx_buffers);
	free(r->tx_buffers);
	free(r);
}

static int raw_buffers(struct raw_port *r)
{
	/* Odd numbers of cache lines, so that buffers spread over all cache sets. */
	r->rx_stride = FRAME_MAX_BYTES / 64 * 64 + 128 + 64;
	r->tx_stride = (r->port.config.frame_bytes / 64 + 1) * 64;
	if (r->tx_stride / 64 % 2 == 0)
		r->tx_stride += 64;
	r->rx_buffers = calloc(PORT_BURST, r->rx_stride);
	r->tx_buffers = calloc(PORT_BURST, r->tx_stride);
	if (!r->rx_buffers || !r->tx_buffers)
		return -ENOMEM;
	for (int i = 0; i < PORT_BURST; i++) {
		r->rx_iov[i].iov_base = r->rx_buffers + (size_t)i * r->rx_stride;
		r->rx_iov[i].iov_len = r->rx_stride;
		r->rx_msgs[i].msg_hdr.msg_iov = &r->rx_iov[i];
		r->rx_msgs[i].msg_hdr.msg_iovlen = 1;
		r->tx_msgs[i].msg_hdr.msg_iov = &r->tx_iov[i];
		r->tx_msgs[i].msg_hdr.msg_iovlen = 1;
	}
	return 0;
}

static int raw_open(const struct port_config *c, struct port **out, char *error, size_t size)
{
	const char *what = "allocate";
	int ifindex, err = -ENOMEM;
	struct raw_port *r = calloc(1, sizeof *r);
	if (!r)
		return err;
	port_init(&r->port, &port_raw, c);
	r->rx_fd = r->tx_fd = r->segment_fd = r->plug.fd = -1;
	r->port.accepts_partial = true;
	r->rx_queue_full = port_drop_counter(&r->port, "rx_queue_full");
	err = socket_interface(&r->port.config, &ifindex, error, size);
	if (err)
		goto close;
	err = raw_buffers(r);
	if (err)
		goto fail;
	err = packet_socket_rx(&r->port, ifindex, &r->rx_fd, &what);
	if (err)
		goto fail;
	err = packet_socket_bind(r->rx_fd, ifindex, ETH_P_ALL);
	if (err)
		goto fail;
	err = packet_socket_tx(&r->port, ifindex, &r->tx_fd, &what);
	if (err)
		goto fail;
	if (c->io == PORT_BATCH) {
		err = packet_socket_segments(&r->port, ifindex, &r->segment_fd, &what);
		if (err)
			goto fail;
	}
	packet_socket_plug(&r->plug, &r->port, ifindex);
	segment_look(&r->segment, &r->port);
	snprintf(r->port.mode, sizeof r->port.mode, "socket%s",
		 c->io == PORT_SINGLE ? ""
		 : r->segment.on      ? ", segmented batches"
				      : ", sendmmsg");
	*out = &r->port;
	return 0;
fail:
	refusal_say(error, size, err, CAP_NET_RAW, "cannot %s on %s", what, c->interface);
close:
	raw_close(&r->port);
	return err;
}

static int raw_start(struct port *port, unsigned directions)
{
	struct raw_port *r = raw_of(port);
	uint8_t scratch[1];
	(void)directions;
	segment_look(&r->segment, port);
	while (recv(r->rx_fd, scratch, sizeof scratch, MSG_DONTWAIT) >= 0)
		;
	return 0;
}

static unsigned raw_rx_burst(struct port *port, struct packet *burst, unsigned max)
{
	struct raw_port *r = raw_of(port);
	if (port->config.io == PORT_SINGLE) {
		ssize_t n = recv(r->rx_fd, r->rx_buffers, r->rx_stride, MSG_DONTWAIT);
		if (n < 0)
			return 0;
		burst[0] = (struct packet){.data = r->rx_buffers, .length = (uint32_t)n};
		return 1;
	}
	int n = recvmmsg(r->rx_fd, r->rx_msgs, max, MSG_DONTWAIT, NULL);
	if (n < 0)
		return 0;
	for (int i = 0; i < n; i++)
		burst[i] = (struct packet){.data = r->rx_iov[i].iov_base,
					   .length = r->rx_msgs[i].msg_len};
	return (unsigned)n;
}

static unsigned raw_tx_acquire(struct port *port, struct packet *burst, unsigned count)
{
	struct raw_port *r = raw_of(port);
	uint32_t bytes = port->config.frame_bytes - FRAME_FCS_BYTES;
	for (unsigned i = 0; i < count; i++)
		burst[i] = (struct packet){.data = r->tx_buffers + (size_t)i * r->tx_stride,
					   .length = bytes,
					   .capacity = bytes};
	return count;
}

static void raw_release(struct port *port, struct packet *burst, unsigned count)
{
	(void)port, (void)burst, (void)count; /* the next call uses the buffers again */
}

/* The kernel copies from any memory, so it can send another port's buffers directly. */
static int raw_send(struct port *port, struct packet *burst, unsigned count)
{
	struct raw_port *r = raw_of(port);
	if (port->config.io == PORT_SINGLE) {
		ssize_t n = send(r->tx_fd, burst[0].data, burst[0].length, MSG_DONTWAIT);
		return n < 0 ? socket_send_error() : 1;
	}
	for (unsigned i = 0; i < count; i++)
		r->tx_iov[i] = (struct iovec){burst[i].data, burst[i].length};
	int n = sendmmsg(r->tx_fd, r->tx_msgs, count, MSG_DONTWAIT);
	return n < 0 ? socket_send_error() : n;
}

/* One call for `count` frames of one flow and length; all or none are sent. */
static ssize_t send_segmented(struct raw_port *r, const struct packet *burst, unsigned count)
{
	/* Small payloads are copied together: a piece of memory for each would cost the kernel
	 * more. */
	uint32_t headers = frame_headers(port_is_ip6(&r->port.config));
	uint32_t bytes = burst[0].length - headers;
	bool copies = count * bytes <= sizeof r->joined;
	struct segment_head head;
	struct msghdr message = {.msg_iov = r->tx_iov, .msg_iovlen = copies ? 2 : count + 1};
	segment_head(&head, &burst[0]);
	r->tx_iov[0] = (struct iovec){&head, segment_head_bytes(&head)};
	for (unsigned i = 0; i < count; i++) {
		uint8_t *payload = burst[i].data + headers;
		if (copies)
			memcpy(r->joined + i * bytes, payload, bytes);
		else
			r->tx_iov[i + 1] = (struct iovec){payload, bytes};
	}
	if (copies)
		r->tx_iov[1] = (struct iovec){r->joined, count * bytes};
	return sendmsg(r->segment_fd, &message, MSG_DONTWAIT);
}

static int raw_tx_commit(struct port *port, struct packet *burst, unsigned count)
{
	struct raw_port *r = raw_of(port);
	unsigned sent = 0;
	while (r->segment.on && sent < count) {
		unsigned run = segment_run(burst + sent, count - sent,
					   frame_headers(port_is_ip6(&port->config)));
		if (run == 1)
			break;
		if (send_segmented(r, burst + sent, run) < 0) {
			if (segment_failed(&r->segment, port))
				break;
			return sent ? (int)sent : socket_send_error();
		}
		sent += run;
	}
	if (sent == count)
		return (int)sent;
	int n = raw_send(port, burst + sent, count - sent);
	return n > 0 || sent == 0 ? n + (int)sent : (int)sent;
}

static unsigned raw_pollfds(struct port *port, struct pollfd *fds, bool want_tx)
{
	struct raw_port *r = raw_of(port);
	fds[0] = (struct pollfd){.fd = r->rx_fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = r->tx_fd, .events = POLLOUT};
	return want_tx ? 2 : 1;
}

static void raw_refresh(struct port *port)
{
	struct raw_port *r = raw_of(port);
	port_count(r->rx_queue_full, packet_socket_drops(r->rx_fd));
}

const struct port_ops port_raw = {
	.name = "raw",
	.layer = PORT_FRAME,
	.needs_peer = true,
	.open = raw_open,
	.close = raw_close,
	.start = raw_start,
	.rx_burst = raw_rx_burst,
	.rx_release = raw_release,
	.tx_acquire = raw_tx_acquire,
	.tx_commit = raw_tx_commit,
	.tx_release = raw_release,
	.tx_forward = raw_send,
	.pollfds = raw_pollfds,
	.refresh = raw_refresh,
};
