/*
 * xdp: an AF_XDP socket on the interface's first queue, and the engine's XDP program
 * (filter.bpf.c), which gives the socket only the frames of its UDP port. Or another process has
 * loaded a program, which gives frames to the sockets of a pinned map: then a port needs no
 * capability but CAP_NET_RAW.
 *
 * Frames live in one UMEM of fixed chunks. The first half of it is for receiving and circulates:
 * fill ring -> kernel -> rx ring -> role -> fill ring. The second half is for sending: free list ->
 * role -> tx ring -> kernel -> completion ring -> free list. A frame larger than a chunk arrives in
 * several (XDP_USE_SG, Linux 6.6) and is then copied together; it is sent from neighbouring chunks
 * without a copy.
 *
 * In copy mode (veth has only this) the kernel sends when told to, at most 32
 * frames a call (TX_BATCH_SIZE in net/xdp/xsk.c). A large burst may leave as XDP frames
 * instead (xdp_frames.h).
 */
#include "packet/frame.h"
#include "port/packet_socket.h"
#include "port/port.h"
#include "port/socket.h"
#include "port/kernel_filter.h"
#include "port/xdp_frames.h"
#include "refusal/refusal.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/if_xdp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xdp/xsk.h>

/* include/uapi/linux/if_xdp.h; newer than some libcs' headers. */
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)
#endif

enum {
	XDP_FRAMES = 2048, /* for receiving, and as many chunks for sending */
	XDP_CHUNK_SMALL = 2048,
	XDP_CHUNK_LARGE = 4096,
	/* The room that the kernel leaves before a received frame (XDP_PACKET_HEADROOM). */
	XDP_RX_HEADROOM = 256,
	XDP_BUFFER_BYTES = 9216,
	/* The offsets of sent frames within chunks differ by cache lines; otherwise all headers
	 * would share a few cache sets. */
	XDP_COLOURS = 8,
};

/* The handle of a received frame whose chunks are free already. */
#define XDP_JOINED UINT64_MAX

struct xdp_port {
	struct port port;
	struct kernel_filter *program; /* NULL: another process's */
	struct xdp_frames *frames; /* NULL: the socket sends all frames */
	struct xsk_umem *umem;
	struct xsk_socket *socket;
	struct xsk_ring_prod fill, tx;
	struct xsk_ring_cons completion, rx;
	uint8_t *memory;
	size_t memory_bytes;
	uint32_t chunk; /* bytes */
	uint32_t tx_span; /* chunks per sent frame */
	uint64_t *tx_free;
	uint32_t tx_free_count;
	uint8_t *joined; /* a buffer for each packet of a burst, for frames in pieces */
	int promiscuous_fd; /* -1: takes only the frames of its UDP port */
	int map_fd; /* of another process's program; -1: the port has its own */
	uint64_t *rx_ring_full, *rx_no_buffer, *rx_too_long, *rx_dropped, *tx_aborted;
};

static struct xdp_port *xdp_of(struct port *port)
{
	return (struct xdp_port *)port;
}

static void xdp_close(struct port *port)
{
	struct xdp_port *x = xdp_of(port);
	if (x->frames)
		xdp_frames_close(x->frames);
	if (x->program)
		kernel_filter_detach(x->program);
	if (x->socket)
		xsk_socket__delete(x->socket);
	if (x->umem)
		xsk_umem__delete(x->umem);
	if (x->map_fd >= 0)
		close(x->map_fd);
	if (x->memory)
		munmap(x->memory, x->memory_bytes);
	if (x->promiscuous_fd >= 0)
		close(x->promiscuous_fd);
	free(x->tx_free);
	free(x->joined);
	free(x);
}

/* A switch port takes frames to every address. */
static int take_all(struct xdp_port *x, int ifindex)
{
	x->promiscuous_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	return x->promiscuous_fd < 0 ? -errno
				     : packet_socket_promiscuous(x->promiscuous_fd, ifindex);
}

static int xdp_memory(struct xdp_port *x)
{
	uint32_t bytes = x->port.config.frame_bytes;
	x->chunk = bytes + XDP_RX_HEADROOM + XDP_COLOURS * 64 <= XDP_CHUNK_SMALL ? XDP_CHUNK_SMALL
										 : XDP_CHUNK_LARGE;
	x->tx_span = (bytes + x->chunk - 1) / x->chunk;
	x->memory_bytes = (size_t)2 * XDP_FRAMES * x->chunk;
	void *memory = mmap(NULL, x->memory_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED)
		return -errno;
	x->memory = memory;
	x->tx_free = malloc(XDP_FRAMES * sizeof *x->tx_free);
	x->joined = malloc((size_t)PORT_BURST * XDP_BUFFER_BYTES);
	if (!x->tx_free || !x->joined)
		return -ENOMEM;
	for (uint32_t i = 0; (i + 1) * x->tx_span <= XDP_FRAMES; i++) {
		uint64_t colour =
			x->tx_span == 1 && x->chunk == XDP_CHUNK_SMALL ? i % XDP_COLOURS * 64 : 0;
		x->tx_free[x->tx_free_count++] =
			((uint64_t)XDP_FRAMES + (uint64_t)i * x->tx_span) * x->chunk + colour;
	}
	return 0;
}

static int xdp_socket(struct xdp_port *x)
{
	struct xsk_umem_config umem = {
		.fill_size = XDP_FRAMES,
		.comp_size = XDP_FRAMES,
		.frame_size = x->chunk,
	};
	struct xsk_socket_config config = {
		.rx_size = XDP_FRAMES,
		.tx_size = XDP_FRAMES,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = XDP_USE_NEED_WAKEUP | XDP_USE_SG,
	};
	uint32_t at = 0;
	int err = xsk_umem__create(&x->umem, x->memory, x->memory_bytes, &x->fill, &x->completion,
				   &umem);
	if (err)
		return err;
	const char *interface = x->port.config.interface;
	err = xsk_socket__create(&x->socket, interface, 0, x->umem, &x->rx, &x->tx, &config);
	if (err == -EINVAL) {
		/* Before Linux 6.6 a frame must fit one chunk. */
		config.bind_flags = XDP_USE_NEED_WAKEUP;
		port_note(&x->port, "this kernel has no AF_XDP frames in pieces: at most %u bytes",
			  x->chunk - XDP_RX_HEADROOM);
		err = xsk_socket__create(&x->socket, interface, 0, x->umem, &x->rx, &x->tx,
					 &config);
	}
	if (err)
		return err;
	if (xsk_ring_prod__reserve(&x->fill, XDP_FRAMES, &at) != XDP_FRAMES)
		return -ENOSPC;
	for (uint32_t i = 0; i < XDP_FRAMES; i++)
		*xsk_ring_prod__fill_addr(&x->fill, at++) = (uint64_t)i * x->chunk;
	xsk_ring_prod__submit(&x->fill, XDP_FRAMES);
	return 0;
}

static void no_frames(struct xdp_port *x, const char *why)
{
	port_note(&x->port, "bursts leave by the socket, not as XDP frames: %s", why);
	if (x->frames)
		xdp_frames_close(x->frames);
	x->frames = NULL;
}

/* Loads the interface's program and opens what it sends with. -errno; xdp_program cleans up. */
static int sending_program(struct xdp_port *x, int ifindex, uint16_t udp_port, char *error,
			   size_t size)
{
	if (ifindex == FILTER_LOOPBACK)
		return -EINVAL;
	if (x->port.config.frame_bytes > XDP_FRAMES_BYTES)
		return -EMSGSIZE;
	int err = kernel_filter_redirect(&x->program, ifindex, udp_port, true, error, size);
	if (err)
		return err;
	err = xdp_frames_open(&x->frames, x->program, ifindex);
	if (err)
		refusal_say(error, size, err, CAP_BPF, "cannot send XDP frames");
	return err;
}

/* Opens the map of the interface's program. */
static int xdp_map(struct xdp_port *x, char *error, size_t size)
{
	const struct port_config *c = &x->port.config;
	x->map_fd = bpf_obj_get(c->map);
	if (x->map_fd < 0) {
		int err = -errno;
		refusal_say(error, size, err, -1, "cannot open the map %.200s of AF_XDP sockets%s",
			    c->map, err == -EPERM ? " (the system call bpf must be allowed)" : "");
		return err;
	}
	if (c->io == PORT_XDP_FRAMES)
		no_frames(x, "the interface's program is another process's");
	return 0;
}

/* Loads the interface's program, which also sends if that is requested and the kernel can. */
static int xdp_program(struct xdp_port *x, int ifindex, char *error, size_t size)
{
	const struct port_config *c = &x->port.config;
	uint16_t udp_port = c->frames == PORT_FRAMES_ALL ? 0 : c->udp_port;
	if (c->map[0])
		return xdp_map(x, error, size);
	if (c->io == PORT_XDP_FRAMES) {
		int err = sending_program(x, ifindex, udp_port, error, size);
		if (!err || refusal_exhausted(err))
			return err;
		no_frames(x, strerror(-err));
		if (x->program)
			kernel_filter_detach(x->program);
		x->program = NULL;
	}
	return kernel_filter_redirect(&x->program, ifindex, udp_port, false, error, size);
}

static void xdp_mode(struct xdp_port *x)
{
	struct xdp_options options = {0};
	socklen_t length = sizeof options;
	getsockopt(xsk_socket__fd(x->socket), SOL_XDP, XDP_OPTIONS, &options, &length);
	bool copies = !(options.flags & XDP_OPTIONS_ZEROCOPY);
	if (!copies && x->frames)
		no_frames(x, "the driver takes the socket's without a copy");
	snprintf(x->port.mode, sizeof x->port.mode, "%s, %s%s",
		 x->program ? kernel_filter_mode(x->program) : "map", copies ? "copy" : "zero copy",
		 x->frames ? ", XDP frames" : "");
}

static int xdp_open(const struct port_config *c, struct port **out, char *error, size_t size)
{
	int ifindex, err = -ENOMEM;
	struct xdp_port *x = calloc(1, sizeof *x);
	if (!x)
		return err;
	port_init(&x->port, &port_xdp, c);
	x->promiscuous_fd = x->map_fd = -1;
	bool all = c->frames == PORT_FRAMES_ALL;
	x->port.accepts_partial = true;
	x->rx_ring_full = port_drop_counter(&x->port, "rx_ring_full");
	x->rx_no_buffer = port_drop_counter(&x->port, "rx_no_buffer");
	x->rx_too_long = port_drop_counter(&x->port, "rx_too_long");
	x->rx_dropped = port_drop_counter(&x->port, "rx_dropped");
	x->tx_aborted = port_drop_counter(&x->port, "tx_aborted");
	err = socket_interface(&x->port.config, &ifindex, error, size);
	if (err)
		goto fail;
	err = xdp_memory(x);
	if (err) {
		refusal_say(error, size, err, -1, "cannot allocate the packet memory");
		goto fail;
	}
	err = all ? take_all(x, ifindex) : 0;
	if (err) {
		refusal_say(error, size, err, CAP_NET_RAW, "cannot make %s promiscuous",
			    c->interface);
		goto fail;
	}
	err = xdp_program(x, ifindex, error, size);
	if (err)
		goto fail;
	err = xdp_socket(x);
	refusal_say(error, size, err, CAP_NET_RAW, "cannot open an AF_XDP socket on %s",
		    c->interface);
	if (err == -ENOBUFS)
		snprintf(error, size,
			 "the packet memory of an AF_XDP socket on %s is more than RLIMIT_MEMLOCK "
			 "leaves (CAP_IPC_LOCK lifts the limit)",
			 c->interface);
	if (err)
		goto fail;
	snprintf(error, size, "cannot put the AF_XDP socket into the map of %s", c->interface);
	err = xsk_socket__update_xskmap(
		x->socket, x->program ? kernel_filter_map(x->program, "sockets") : x->map_fd);
	if (err)
		goto fail;
	socket_busy_poll(xsk_socket__fd(x->socket), &x->port);
	xdp_mode(x);
	*out = &x->port;
	return 0;
fail:
	xdp_close(&x->port);
	return err;
}

/* Returns chunks for receiving. There is always room: the ring holds all of them. */
static void refill(struct xdp_port *x, const uint64_t *chunks, unsigned count)
{
	uint32_t at = 0;
	if (xsk_ring_prod__reserve(&x->fill, count, &at) != count)
		return;
	for (unsigned i = 0; i < count; i++)
		*xsk_ring_prod__fill_addr(&x->fill, at++) = chunks[i];
	xsk_ring_prod__submit(&x->fill, count);
}

static uint64_t chunk_of(const struct xdp_port *x, uint64_t address)
{
	return address & ~((uint64_t)x->chunk - 1);
}

/* Copies a frame in several chunks together; false if it is too long. */
static bool join(struct xdp_port *x, uint32_t *at, struct packet *p, unsigned index)
{
	uint8_t *to = x->joined + (size_t)index * XDP_BUFFER_BYTES;
	bool fits = true, more = true;
	*p = (struct packet){.data = to, .handle = XDP_JOINED};
	while (more) {
		const struct xdp_desc *d = xsk_ring_cons__rx_desc(&x->rx, (*at)++);
		more = d->options & XDP_PKT_CONTD;
		fits = fits && p->length + d->len <= XDP_BUFFER_BYTES;
		if (fits) {
			memcpy(to + p->length, x->memory + d->addr, d->len);
			p->length += d->len;
		}
		uint64_t chunk = chunk_of(x, d->addr);
		refill(x, &chunk, 1);
	}
	return fits;
}

static unsigned xdp_rx_burst(struct port *port, struct packet *burst, unsigned max)
{
	struct xdp_port *x = xdp_of(port);
	uint32_t first, n = 0;
	/* Looks at all entries: the kernel publishes whole frames, so the last piece is there. */
	uint32_t ready = xsk_ring_cons__peek(&x->rx, XDP_FRAMES, &first);
	if (ready == 0) {
		if (port->config.wait == PORT_BUSY_POLL)
			recvfrom(xsk_socket__fd(x->socket), NULL, 0, MSG_DONTWAIT, NULL, NULL);
		return 0;
	}
	uint32_t at = first;
	while (at - first < ready && n < max) {
		const struct xdp_desc *d = xsk_ring_cons__rx_desc(&x->rx, at);
		if (d->options & XDP_PKT_CONTD) {
			if (join(x, &at, &burst[n], n))
				n++;
			else
				port_count(x->rx_too_long, 1);
			continue;
		}
		burst[n++] = (struct packet){.data = x->memory + d->addr,
					     .length = d->len,
					     .handle = chunk_of(x, d->addr)};
		at++;
	}
	xsk_ring_cons__cancel(&x->rx, ready - (at - first));
	xsk_ring_cons__release(&x->rx, at - first);
	return n;
}

static void xdp_rx_release(struct port *port, struct packet *burst, unsigned count)
{
	struct xdp_port *x = xdp_of(port);
	uint64_t chunks[PORT_BURST];
	unsigned n = 0;
	for (unsigned i = 0; i < count; i++)
		if (burst[i].handle != XDP_JOINED)
			chunks[n++] = burst[i].handle;
	refill(x, chunks, n);
}

static int xdp_start(struct port *port, unsigned directions)
{
	struct packet burst[PORT_BURST];
	unsigned n;
	(void)directions;
	while ((n = xdp_rx_burst(port, burst, PORT_BURST)))
		xdp_rx_release(port, burst, n);
	return 0;
}

/* Takes back the chunks of sent frames; a frame's first chunk stands for all of them. */
static void reclaim(struct xdp_port *x)
{
	uint32_t at = 0;
	uint32_t n = xsk_ring_cons__peek(&x->completion, XDP_FRAMES, &at);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t address = *xsk_ring_cons__comp_addr(&x->completion, at++);
		uint64_t index = address / x->chunk - XDP_FRAMES;
		if (index % x->tx_span == 0)
			x->tx_free[x->tx_free_count++] = address;
	}
	xsk_ring_cons__release(&x->completion, n);
}

static int kick(struct xdp_port *x)
{
	/* EAGAIN: the kernel sent a batch, and more is left. */
	for (uint32_t i = 0; i <= PORT_BURST; i++) {
		if (sendto(xsk_socket__fd(x->socket), NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
			return 0;
		if (errno != EAGAIN || xsk_prod_nb_free(&x->tx, XDP_FRAMES) == XDP_FRAMES)
			break;
	}
	return socket_send_error();
}

static unsigned xdp_tx_acquire(struct port *port, struct packet *burst, unsigned count)
{
	struct xdp_port *x = xdp_of(port);
	uint32_t bytes = port->config.frame_bytes - FRAME_FCS_BYTES;
	if (x->tx_free_count < count)
		reclaim(x);
	if (x->tx_free_count < count)
		count = x->tx_free_count;
	uint32_t room = xsk_prod_nb_free(&x->tx, count * x->tx_span) / x->tx_span;
	if (count > room) {
		kick(x); /* send what an earlier kick left */
		count = room;
	}
	for (unsigned i = 0; i < count; i++) {
		uint64_t address = x->tx_free[--x->tx_free_count];
		burst[i] = (struct packet){.data = x->memory + address,
					   .length = bytes,
					   .capacity = x->tx_span * x->chunk -
						       (uint32_t)(address % x->chunk),
					   .handle = address};
	}
	return count;
}

static void xdp_tx_release(struct port *port, struct packet *burst, unsigned count)
{
	struct xdp_port *x = xdp_of(port);
	for (unsigned i = 0; i < count; i++)
		x->tx_free[x->tx_free_count++] = burst[i].handle;
}

/* Sends a burst as XDP frames. Returns how many it took; 0: the socket must send them, because they
 * must not overtake frames that it still has. */
static int send_frames(struct xdp_port *x, const struct packet *burst, unsigned count)
{
	if (!x->frames || count < XDP_FRAMES_WORTH ||
	    xsk_prod_nb_free(&x->tx, XDP_FRAMES) < XDP_FRAMES)
		return 0;
	for (unsigned i = 0; i < count; i++)
		if (burst[i].length > XDP_FRAMES_BYTES)
			return 0;
	int taken = xdp_frames_send(x->frames, burst, count);
	return taken > 0 ? taken : 0;
}

static int xdp_tx_commit(struct port *port, struct packet *burst, unsigned count)
{
	struct xdp_port *x = xdp_of(port);
	uint32_t at = 0;
	int taken = send_frames(x, burst, count);
	if (taken > 0) {
		xdp_tx_release(port, burst, (unsigned)taken);
		return taken;
	}
	/* xdp_tx_acquire made sure that there is room. */
	if (xsk_ring_prod__reserve(&x->tx, count * x->tx_span, &at) != count * x->tx_span)
		return 0;
	uint32_t used = 0;
	for (unsigned i = 0; i < count; i++) {
		uint32_t left = burst[i].length;
		uint64_t address = burst[i].handle;
		while (left > 0) {
			uint32_t length = left < x->chunk ? left : x->chunk;
			left -= length;
			*xsk_ring_prod__tx_desc(&x->tx, at + used++) = (struct xdp_desc){
				.addr = address,
				.len = length,
				.options = left ? XDP_PKT_CONTD : 0,
			};
			address += length;
		}
	}
	x->tx.cached_prod -= count * x->tx_span - used; /* short frames took less */
	xsk_ring_prod__submit(&x->tx, used);
	if (xsk_ring_prod__needs_wakeup(&x->tx))
		kick(x);
	return (int)count;
}

/* Every port has its own UMEM, so frames are copied from one to the other. The kernel's work on a
 * frame costs many times that. */
static int xdp_tx_forward(struct port *port, struct packet *burst, unsigned count)
{
	struct packet mine[PORT_BURST];
	unsigned n = xdp_tx_acquire(port, mine, count), i;
	for (i = 0; i < n; i++) {
		if (burst[i].length > mine[i].capacity)
			break;
		memcpy(mine[i].data, burst[i].data, burst[i].length);
		mine[i].length = burst[i].length;
	}
	if (i < n)
		xdp_tx_release(port, mine + i, n - i);
	if (i == 0)
		return n ? -EMSGSIZE : 0;
	return xdp_tx_commit(port, mine, i);
}

static unsigned xdp_pollfds(struct port *port, struct pollfd *fds, bool want_tx)
{
	fds[0] = (struct pollfd){.fd = xsk_socket__fd(xdp_of(port)->socket),
				 .events = (short)(POLLIN | (want_tx ? POLLOUT : 0))};
	return 1;
}

static void xdp_refresh(struct port *port)
{
	struct xdp_port *x = xdp_of(port);
	struct xdp_statistics s = {0};
	socklen_t length = sizeof s;
	if (x->frames)
		*x->tx_aborted = xdp_frames_aborted(x->frames);
	if (getsockopt(xsk_socket__fd(x->socket), SOL_XDP, XDP_STATISTICS, &s, &length) < 0)
		return;
	*x->rx_ring_full = s.rx_ring_full;
	*x->rx_no_buffer = s.rx_fill_ring_empty_descs;
	*x->rx_dropped = s.rx_dropped;
}

const struct port_ops port_xdp = {
	.name = "xdp",
	.layer = PORT_FRAME,
	.needs_peer = true,
	.open = xdp_open,
	.close = xdp_close,
	.start = xdp_start,
	.rx_burst = xdp_rx_burst,
	.rx_release = xdp_rx_release,
	.tx_acquire = xdp_tx_acquire,
	.tx_commit = xdp_tx_commit,
	.tx_release = xdp_tx_release,
	.tx_forward = xdp_tx_forward,
	.pollfds = xdp_pollfds,
	.refresh = xdp_refresh,
};
