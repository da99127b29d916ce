/*
 * ring: AF_PACKET with memory shared with the kernel (PACKET_RX_RING and
 * PACKET_TX_RING): frames are read and written in place.
 *
 * Why TPACKET_V2 and not V3 for receiving: V3 hands over blocks, when a block is full or after its
 * timeout, which is at least a jiffy. A packet on a quiet link would wait for milliseconds
 * (net/packet/af_packet.c, prb_retire_rx_blk_timer). Smaller blocks do not help: even a block of
 * one frame is only retired by the next packet. V2 shows each frame as soon as it is written, wakes
 * the poller for each, and costs a status word per packet. Its drawback, slots of one size, does
 * not matter here, because all frames have the same size. V3 sends exactly as V2 does.
 *
 * Sent frames carry a virtio header, which tells the kernel to copy the whole frame into the
 * packet. Without it the packet would refer to the ring's pages, and on a veth, which hands packets
 * from one socket to another, the kernel would have to allocate its own pages for each
 * (skb_copy_ubufs), which costs more. With the same header one slot takes a whole burst of small
 * frames for the kernel to segment (segment.h): the first frame, then as many other payloads as
 * fit.
 *
 * The kernel and the port own a slot in turns, as tp_status says: rx KERNEL -> USER ->
 * KERNEL, tx AVAILABLE -> SEND_REQUEST (-> SENDING) -> AVAILABLE.
 */
#include "packet/frame.h"
#include "port/packet_socket.h"
#include "port/port.h"
#include "port/segment.h"
#include "port/socket.h"
#include "refusal/refusal.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	RING_RX_SLOTS = 4096,
	RING_TX_SLOTS = 512,
	RING_BLOCK_BYTES = 1 << 16,
	/* A slot of the rx ring holds at least a full standard frame, whatever
	 * frame_bytes says. */
	RING_FRAME_MIN = 1540,
	/* Where af_packet puts the frame on rx: TPACKET_ALIGN(TPACKET2_HDRLEN + 16) - 14. */
	RING_RX_OFFSET = 96,
};

struct ring {
	int fd;
	uint8_t *memory;
	size_t bytes;
	uint32_t slots, slot_bytes, slots_per_block, next;
};

struct ring_port {
	struct port port;
	struct ring rx, tx;
	struct packet_socket_plug plug;
	struct segment segment;
	uint32_t tx_offset;
	uint64_t *rx_ring_full, *rx_truncated, *tx_refused;
};

static struct ring_port *ring_of(struct port *port)
{
	return (struct ring_port *)port;
}

static struct tpacket2_hdr *slot(const struct ring *r, uint32_t index)
{
	uint32_t i = index % r->slots;
	return (struct tpacket2_hdr *)(void *)(r->memory +
					       (size_t)(i / r->slots_per_block) * RING_BLOCK_BYTES +
					       (size_t)(i % r->slots_per_block) * r->slot_bytes);
}

static uint32_t status(const struct tpacket2_hdr *h)
{
	return __atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE);
}

static void set_status(struct tpacket2_hdr *h, uint32_t value)
{
	__atomic_store_n(&h->tp_status, value, __ATOMIC_RELEASE);
}

static int ring_map(struct ring *r, int option, uint32_t slots, uint32_t frame_bytes)
{
	int version = TPACKET_V2;
	if (setsockopt(r->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) < 0)
		return -errno;
	/* An odd number of cache lines, so that slots spread over all cache sets. */
	r->slot_bytes = (frame_bytes + RING_RX_OFFSET + 63) / 64 * 64;
	if (r->slot_bytes / 64 % 2 == 0)
		r->slot_bytes += 64;
	r->slots_per_block = RING_BLOCK_BYTES / r->slot_bytes;
	uint32_t blocks = (slots + r->slots_per_block - 1) / r->slots_per_block;
	r->slots = blocks * r->slots_per_block;
	r->bytes = (size_t)blocks * RING_BLOCK_BYTES;
	struct tpacket_req request = {
		.tp_block_size = RING_BLOCK_BYTES,
		.tp_block_nr = blocks,
		.tp_frame_size = r->slot_bytes,
		.tp_frame_nr = r->slots,
	};
	if (setsockopt(r->fd, SOL_PACKET, option, &request, sizeof request) < 0)
		return -errno;
	void *memory =
		mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	r->memory = memory;
	return 0;
}

static void ring_unmap(struct ring *r)
{
	if (r->memory)
		munmap(r->memory, r->bytes);
	if (r->fd >= 0)
		close(r->fd);
}

static void ring_close(struct port *port)
{
	struct ring_port *r = ring_of(port);
	ring_unmap(&r->rx);
	ring_unmap(&r->tx);
	packet_socket_unplug(&r->plug);
	free(r);
}

static int ring_open(const struct port_config *c, struct port **out, char *error, size_t size)
{
	const char *what = "allocate";
	int ifindex, err = -ENOMEM;
	uint32_t frame = c->frame_bytes > RING_FRAME_MIN ? c->frame_bytes : RING_FRAME_MIN;
	struct ring_port *r = calloc(1, sizeof *r);
	if (!r)
		return err;
	port_init(&r->port, &port_ring, c);
	r->rx.fd = r->tx.fd = r->plug.fd = -1;
	r->port.accepts_partial = true;
	r->rx_ring_full = port_drop_counter(&r->port, "rx_ring_full");
	r->rx_truncated = port_drop_counter(&r->port, "rx_truncated");
	r->tx_refused = port_drop_counter(&r->port, "tx_refused");
	/* Where tpacket_snd looks for the frame. */
	r->tx_offset = TPACKET2_HDRLEN - sizeof(struct sockaddr_ll) + sizeof(struct virtio_net_hdr);
	err = socket_interface(&r->port.config, &ifindex, error, size);
	if (err)
		goto close;
	err = packet_socket_rx(&r->port, ifindex, &r->rx.fd, &what);
	if (err)
		goto fail;
	what = "map the receive ring";
	err = ring_map(&r->rx, PACKET_RX_RING, RING_RX_SLOTS, frame);
	if (err)
		goto fail;
	err = packet_socket_bind(r->rx.fd, ifindex, ETH_P_ALL);
	if (err)
		goto fail;
	err = packet_socket_tx(&r->port, ifindex, &r->tx.fd, &what);
	if (err)
		goto fail;
	what = "send frames with a virtio header";
	if (setsockopt(r->tx.fd, SOL_PACKET, PACKET_VNET_HDR, &(int){1}, sizeof(int)) < 0) {
		err = -errno;
		goto fail;
	}
	what = "map the send ring";
	err = ring_map(&r->tx, PACKET_TX_RING, RING_TX_SLOTS, frame);
	if (err)
		goto fail;
	packet_socket_plug(&r->plug, &r->port, ifindex);
	segment_look(&r->segment, &r->port);
	snprintf(r->port.mode, sizeof r->port.mode, "tpacket_v2%s",
		 r->segment.on ? ", segmented batches" : "");
	*out = &r->port;
	return 0;
fail:
	refusal_say(error, size, err, CAP_NET_RAW, "cannot %s on %s", what, c->interface);
close:
	ring_close(&r->port);
	return err;
}

static unsigned ring_rx_burst(struct port *port, struct packet *burst, unsigned max)
{
	struct ring_port *r = ring_of(port);
	unsigned n = 0;
	while (n < max) {
		struct tpacket2_hdr *h = slot(&r->rx, r->rx.next + n);
		if (!(status(h) & TP_STATUS_USER))
			break;
		if (h->tp_snaplen < h->tp_len)
			port_count(r->rx_truncated, 1);
		burst[n++] =
			(struct packet){.data = (uint8_t *)h + h->tp_mac, .length = h->tp_snaplen};
	}
	return n;
}

static void ring_rx_release(struct port *port, struct packet *burst, unsigned count)
{
	struct ring_port *r = ring_of(port);
	(void)burst;
	for (unsigned i = 0; i < count; i++)
		set_status(slot(&r->rx, r->rx.next++), TP_STATUS_KERNEL);
}

static int ring_start(struct port *port, unsigned directions)
{
	struct ring_port *r = ring_of(port);
	struct packet burst[PORT_BURST];
	unsigned n;
	(void)directions;
	segment_look(&r->segment, port);
	/* The kernel does not segment packets that bypass the queueing disciplines. */
	if (setsockopt(r->tx.fd, SOL_PACKET, PACKET_QDISC_BYPASS, &(int){!r->segment.on},
		       sizeof(int)) < 0)
		return -errno;
	while ((n = ring_rx_burst(port, burst, PORT_BURST)))
		ring_rx_release(port, burst, n);
	return 0;
}

static unsigned ring_tx_acquire(struct port *port, struct packet *burst, unsigned count)
{
	struct ring_port *r = ring_of(port);
	uint32_t bytes = port->config.frame_bytes - FRAME_FCS_BYTES;
	for (unsigned i = 0; i < count; i++) {
		struct tpacket2_hdr *h = slot(&r->tx, r->tx.next + i);
		uint32_t s = status(h);
		if (s == TP_STATUS_WRONG_FORMAT) {
			port_count(r->tx_refused, 1);
			s = TP_STATUS_AVAILABLE;
			set_status(h, s);
		}
		if (s != TP_STATUS_AVAILABLE)
			return i;
		burst[i] = (struct packet){.data = (uint8_t *)h + r->tx_offset,
					   .length = bytes,
					   .capacity = r->tx.slot_bytes - r->tx_offset};
	}
	return count;
}

/* The place of the next slot's frame. */
static uint8_t *next_frame(const struct ring_port *r)
{
	return (uint8_t *)slot(&r->tx, r->tx.next) + r->tx_offset;
}

/* Hands the next slot to the kernel: a frame after a virtio header. */
static void request(struct ring_port *r, const struct virtio_net_hdr *header, uint32_t frame_bytes)
{
	uint8_t *frame = next_frame(r);
	struct tpacket2_hdr *h = slot(&r->tx, r->tx.next++);
	memcpy(frame - sizeof *header, header, sizeof *header);
	h->tp_len = frame_bytes + (uint32_t)sizeof *header;
	set_status(h, TP_STATUS_SEND_REQUEST);
}

/* How many frames, counted from the first, fit into one slot. */
static unsigned slot_run(const struct ring_port *r, const struct packet *burst, unsigned count)
{
	uint32_t headers = frame_headers(port_is_ip6(&r->port.config));
	uint32_t payload = burst[0].length - headers;
	if (payload == 0)
		return 1;
	uint32_t fitting = (r->tx.slot_bytes - r->tx_offset - headers) / payload;
	return segment_run(burst, count < fitting ? count : fitting, headers);
}

/* Sends `run` frames from the next slot. The kernel takes slots in turn, so the following frames
 * move up when they are sent. If it refuses to segment, the first frame is restored and false
 * returned. */
static bool send_segmented(struct ring_port *r, const struct packet *burst, unsigned run)
{
	struct segment_head head;
	segment_head(&head, &burst[0]);
	uint32_t headers = head.virtio.hdr_len, bytes = headers;
	uint32_t payload = burst[0].length - headers;
	uint8_t first[FRAME_HEADERS6], *frame = next_frame(r);
	memcpy(first, burst[0].data, headers);
	memcpy(frame, head.frame, headers);
	for (unsigned i = 0; i < run; i++, bytes += payload)
		memmove(frame + bytes, burst[i].data + headers, payload);
	struct virtio_net_hdr header = head.virtio;
	header.hdr_len = (uint16_t)bytes; /* copied whole, as above */
	struct tpacket2_hdr *h = slot(&r->tx, r->tx.next);
	request(r, &header, bytes);
	if (send(r->tx.fd, NULL, 0, MSG_DONTWAIT) >= 0 || status(h) != TP_STATUS_WRONG_FORMAT)
		return true; /* sent, or will be sent with the next slot */
	errno = EINVAL;
	segment_failed(&r->segment, &r->port);
	r->tx.next--;
	set_status(h, TP_STATUS_AVAILABLE);
	memcpy(burst[0].data, first, headers);
	return false;
}

static int ring_tx_commit(struct port *port, struct packet *burst, unsigned count)
{
	struct ring_port *r = ring_of(port);
	if (r->segment.on) {
		unsigned run = slot_run(r, burst, count);
		if (run > 1 && send_segmented(r, burst, run))
			return (int)run;
	}
	for (unsigned i = 0; i < count; i++) {
		struct virtio_net_hdr header = {.hdr_len = (uint16_t)burst[i].length};
		if (burst[i].data != next_frame(r))
			memmove(next_frame(r), burst[i].data, burst[i].length);
		request(r, &header, burst[i].length);
	}
	/* The kernel sends every requested slot. If it stops early, the next call continues there:
	 * the slots are already requested. */
	if (send(r->tx.fd, NULL, 0, MSG_DONTWAIT) < 0 && socket_send_error())
		port_count(r->tx_refused, 1);
	return (int)count;
}

static void ring_tx_release(struct port *port, struct packet *burst, unsigned count)
{
	(void)port, (void)burst, (void)count; /* not yet requested, so still available */
}

static int ring_tx_forward(struct port *port, struct packet *burst, unsigned count)
{
	struct packet mine[PORT_BURST];
	unsigned n = ring_tx_acquire(port, mine, count);
	for (unsigned i = 0; i < n; i++) {
		if (burst[i].length > mine[i].capacity)
			return i ? ring_tx_commit(port, mine, i) : -EMSGSIZE;
		memcpy(mine[i].data, burst[i].data, burst[i].length);
		mine[i].length = burst[i].length;
	}
	return n ? ring_tx_commit(port, mine, n) : 0;
}

static unsigned ring_pollfds(struct port *port, struct pollfd *fds, bool want_tx)
{
	struct ring_port *r = ring_of(port);
	fds[0] = (struct pollfd){.fd = r->rx.fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = r->tx.fd, .events = POLLOUT};
	return want_tx ? 2 : 1;
}

static void ring_refresh(struct port *port)
{
	struct ring_port *r = ring_of(port);
	port_count(r->rx_ring_full, packet_socket_drops(r->rx.fd));
}

const struct port_ops port_ring = {
	.name = "ring",
	.layer = PORT_FRAME,
	.needs_peer = true,
	.open = ring_open,
	.close = ring_close,
	.start = ring_start,
	.rx_burst = ring_rx_burst,
	.rx_release = ring_rx_release,
	.tx_acquire = ring_tx_acquire,
	.tx_commit = ring_tx_commit,
	.tx_release = ring_tx_release,
	.tx_forward = ring_tx_forward,
	.pollfds = ring_pollfds,
	.refresh = ring_refresh,
};
