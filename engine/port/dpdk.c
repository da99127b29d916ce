/*
 * dpdk: any Ethernet device of DPDK. The port lends received packets in their mbufs and the role
 * writes packets into mbufs, so the port itself copies nothing. A driver may copy: memif and vhost
 * into shared memory, af_packet into a socket's ring.
 *
 *   rx_burst: rte_eth_rx_burst -> packet.data points into the mbuf, handle is the mbuf
 *   tx_acquire: mbufs of the port's own pool -> tx_commit: rte_eth_tx_burst
 *   tx_move: another port's received mbufs -> rte_eth_tx_burst; the driver frees them
 *
 * The measuring thread is registered with DPDK (eal_thread_begin), so it takes buffers from its own
 * cache of the pool, and returns them there.
 */
#include "dpdk/device.h"
#include "dpdk/eal.h"
#include "dpdk/gate.h"
#include "dpdk/opening.h"
#include "packet/frame.h"
#include "port/port.h"

#include <errno.h>
#include <pthread.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The offset of an mbuf's data_off, refcnt, nb_segs and port: eight bytes, which drivers also set
 * at once. */
enum { REARM_AT = offsetof(struct rte_mbuf, data_off) };
_Static_assert(RTE_MAX_ETHPORTS <= GATES, "a gate for each device");
_Static_assert(offsetof(struct rte_mbuf, port) == REARM_AT + 6, "rte_mbuf_core.h");

/* How long `open` waits for a device. The device reports at once whether it works, unless its peer
 * hangs. */
#define LISTEN_LOOK_NS	UINT64_C(1000000)
#define CONNECT_WAIT_NS UINT64_C(3000000000)

struct dpdk_port {
	struct port port;
	struct opening *opening; /* until the device is ready */
	pthread_mutex_t coming; /* guards `opening` */
	atomic_bool ready; /* the device is ready, and stays so */
	struct device device;
	uint32_t tx_bytes; /* of a frame, without FCS */
	/* The measuring thread's: it receives, it has asked to be woken, and packets that came
	 * before. */
	bool receives, asked;
	struct rte_mbuf *early[PORT_BURST];
	unsigned early_count;
	uint64_t rearm; /* of an mbuf to send: data offset, references, segments, port */
	uint64_t *rx_missed, *rx_errors, *rx_no_buffer, *tx_errors, *rx_segmented;
};

static struct dpdk_port *dpdk_of(struct port *port)
{
	return (struct dpdk_port *)port;
}

static struct rte_mbuf *mbuf_of(const struct packet *p)
{
	return (struct rte_mbuf *)(uintptr_t)p->handle;
}

/* Reads the device's addresses, and notes its limits. */
static int describe(struct dpdk_port *d)
{
	struct port *port = &d->port;
	struct rte_ether_addr mac;
	int node = eal_memory_node();
	int err = rte_eth_macaddr_get(d->device.id, &mac);
	if (err)
		return err;
	if (!port->config.has_local_mac) {
		memcpy(port->config.local_mac, mac.addr_bytes, 6);
		port->config.has_local_mac = true;
	} else if (memcmp(port->config.local_mac, mac.addr_bytes, 6) != 0 &&
		   !d->device.promiscuous && eal_is_pci_address(d->device.text.name)) {
		/* Only hardware filters by MAC address. */
		memcpy(mac.addr_bytes, port->config.local_mac, 6);
		if (rte_eth_dev_default_mac_addr_set(d->device.id, &mac) != 0)
			port_note(port,
				  "%s takes neither local_mac nor every frame: what is sent to "
				  "local_mac may not arrive",
				  d->device.text.name);
	}
	if (node >= 0 && d->device.node >= 0 && d->device.node != node)
		port_note(port, "%s is on memory node %d and its buffers are on node %d",
			  d->device.text.name, d->device.node, node);
	if (!device_is_up(&d->device))
		port_note(port, "%s waits for its peer", d->device.text.name);
	snprintf(port->mode, sizeof port->mode, "%s", d->device.driver);
	return 0;
}

/* Fills in what depends on the device, once it is ready. */
static int adopt(struct dpdk_port *d)
{
	struct rte_mbuf fresh = {.data_off = RTE_PKTMBUF_HEADROOM, .refcnt = 1, .nb_segs = 1};
	opening_take(d->opening, &d->device);
	d->opening = NULL;
	fresh.port = d->device.id;
	memcpy(&d->rearm, (const uint8_t *)&fresh + REARM_AT, sizeof d->rearm);
	int err = describe(d);
	if (err)
		device_close(&d->device);
	else
		atomic_store_explicit(&d->ready, true, memory_order_release);
	return err;
}

static void dpdk_close(struct port *port)
{
	struct dpdk_port *d = dpdk_of(port);
	if (d->opening)
		opening_cancel(d->opening);
	rte_pktmbuf_free_bulk(d->early, d->early_count);
	if (atomic_load(&d->ready))
		device_close(&d->device);
	pthread_mutex_destroy(&d->coming);
	free(port);
}

/* Waits for the device for a limited time: 0, or -errno if it cannot be opened. */
static int await_device(struct dpdk_port *d, uint64_t timeout_ns, char *error, size_t size)
{
	const char *why;
	int err;
	if (!d->opening)
		return 0;
	switch (opening_wait(d->opening, timeout_ns, &err, &why)) {
	case OPENING_WAITS:
		return 0;
	case OPENING_DONE:
		err = adopt(d);
		if (err)
			snprintf(error, size, "cannot read the MAC address");
		return err;
	case OPENING_FAILED:
		snprintf(error, size, "%s", why);
		opening_cancel(d->opening);
		d->opening = NULL;
		return err;
	}
	return 0;
}

/* A device that cannot be opened before its peer exists waits; one that blocks until its peer
 * connects counts as open once it listens. */
static int await_open(struct dpdk_port *d, const struct device_text *text, char *error, size_t size)
{
	int err = 0;
	if (text->awaits_peer && !device_socket_listens(text->socket))
		return 0;
	if (!text->blocks)
		return await_device(d, CONNECT_WAIT_NS, error, size);
	do
		err = await_device(d, LISTEN_LOOK_NS, error, size);
	while (!err && d->opening && !device_socket_listens(text->socket));
	return err;
}

static int dpdk_open(const struct port_config *c, struct port **out, char *error, size_t size)
{
	struct device_text text;
	if (c->wait == PORT_BUSY_POLL) {
		snprintf(error, size,
			 "the kernel does not poll for a dpdk port: use \"wait\":\"spin\", or "
			 "\"block\" with a driver that has receive interrupts");
		return -EINVAL;
	}
	int err = device_text_parse(c->device, &text, error, size);
	if (err)
		return err;
	struct dpdk_port *d = calloc(1, sizeof *d);
	if (!d) {
		snprintf(error, size, "out of memory");
		return -ENOMEM;
	}
	port_init(&d->port, &port_dpdk, c);
	pthread_mutex_init(&d->coming, NULL);
	d->tx_bytes = c->frame_bytes - FRAME_FCS_BYTES;
	d->rx_missed = port_drop_counter(&d->port, "rx_missed");
	d->rx_errors = port_drop_counter(&d->port, "rx_errors");
	d->rx_no_buffer = port_drop_counter(&d->port, "rx_no_buffer");
	d->rx_segmented = port_drop_counter(&d->port, "rx_segmented");
	d->tx_errors = port_drop_counter(&d->port, "tx_errors");
	err = opening_begin(&d->opening, c->device, c->frame_bytes, c->wait == PORT_BLOCK, error,
			    size);
	err = err ?: await_open(d, &text, error, size);
	if (!err && d->opening && !c->has_local_mac) {
		snprintf(
			error, size,
			"%s waits for its peer, and until it is there its MAC address is not known: "
			"give \"local_mac\"",
			text.name);
		err = -EDESTADDRREQ;
	}
	if (err) {
		dpdk_close(&d->port);
		return err;
	}
	if (d->opening) {
		port_note(&d->port, "%s waits for its peer", text.name);
		snprintf(d->port.mode, sizeof d->port.mode, "waiting");
	}
	*out = &d->port;
	return 0;
}

/* The device may become ready while the measuring thread polls and no command arrives, so either
 * thread may adopt it. */
static __attribute__((noinline)) bool look_for_device(struct dpdk_port *d)
{
	char error[512];
	if (pthread_mutex_trylock(&d->coming) != 0)
		return false;
	if (await_device(d, 0, error, sizeof error))
		port_note(&d->port, "%.150s", error);
	pthread_mutex_unlock(&d->coming);
	return atomic_load(&d->ready);
}

static inline bool is_ready(struct dpdk_port *d)
{
	return __builtin_expect(atomic_load_explicit(&d->ready, memory_order_acquire), 1) ||
	       look_for_device(d);
}

static bool dpdk_connected(struct port *port)
{
	struct dpdk_port *d = dpdk_of(port);
	return is_ready(d) && device_is_up(&d->device);
}

static void dpdk_reconnect(struct port *port)
{
	struct dpdk_port *d = dpdk_of(port);
	if (is_ready(d))
		device_reconnect(&d->device);
}

/* The driver's burst, inside the gate: meanwhile a dead peer's memory is not unmapped. */
static inline unsigned receive(struct dpdk_port *d, struct rte_mbuf **mbufs, unsigned max)
{
	gate_enter(d->device.id, GATE_RX);
	unsigned n = rte_eth_rx_burst(d->device.id, 0, mbufs, (uint16_t)max);
	gate_leave(d->device.id, GATE_RX);
	return n;
}

/* The announcement of packets costs their sender time, so it is asked for only before a sleep. */
static inline void end_wake(struct dpdk_port *d)
{
	if (!d->asked)
		return;
	device_wake_end(&d->device);
	d->asked = false;
}

/* Packets that came before a sleep, or those that wait now. */
static inline unsigned take(struct dpdk_port *d, struct rte_mbuf **mbufs, unsigned max)
{
	unsigned n = d->early_count;
	if (__builtin_expect(n > 0, 0)) {
		for (unsigned i = 0; i < n; i++)
			mbufs[i] = d->early[i];
		d->early_count = 0;
	} else {
		n = receive(d, mbufs, max);
	}
	if (n > 0)
		end_wake(d);
	return n;
}

static int dpdk_start(struct port *port, unsigned directions)
{
	struct dpdk_port *d = dpdk_of(port);
	struct rte_mbuf *burst[PORT_BURST];
	d->receives = directions & PORT_RX;
	if (!is_ready(d))
		return 0;
	/* Drops the packets that wait, but no more than fit into the queue: a peer that sends all
	 * the time would otherwise keep this loop running. */
	for (unsigned seen = 0, n; seen < 4u * d->device.rx_slots; seen += n) {
		n = take(d, burst, PORT_BURST);
		if (n == 0)
			break;
		rte_pktmbuf_free_bulk(burst, n);
	}
	return 0;
}

/* Joins a frame in several buffers into the first buffer, if it fits. */
static bool one_piece(struct dpdk_port *d, struct rte_mbuf *m)
{
	if (__builtin_expect(m->nb_segs == 1, 1) || rte_pktmbuf_linearize(m) == 0)
		return true;
	port_count(d->rx_segmented, 1);
	rte_pktmbuf_free(m);
	return false;
}

static unsigned dpdk_rx_burst(struct port *port, struct packet *burst, unsigned max)
{
	struct dpdk_port *d = dpdk_of(port);
	struct rte_mbuf *mbufs[PORT_BURST];
	if (!is_ready(d))
		return 0;
	unsigned n = take(d, mbufs, max), count = 0;
	for (unsigned i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], void *));
	for (unsigned i = 0; i < n; i++) {
		if (!one_piece(d, mbufs[i]))
			continue;
		burst[count].data = rte_pktmbuf_mtod(mbufs[i], uint8_t *);
		burst[count].length = mbufs[i]->data_len;
		burst[count].handle = (uintptr_t)mbufs[i];
		count++;
	}
	return count;
}

static void dpdk_release(struct port *port, struct packet *burst, unsigned count)
{
	struct rte_mbuf *mbufs[PORT_BURST];
	(void)port;
	for (unsigned i = 0; i < count; i++)
		mbufs[i] = mbuf_of(&burst[i]);
	rte_pktmbuf_free_bulk(mbufs, count);
}

/* Mbufs come from our own pool, and rte_pktmbuf_prefree_seg leaves them whole. So only the first
 * cache line needs to be set, and less of it than rte_pktmbuf_reset sets. */
static unsigned dpdk_tx_acquire(struct port *port, struct packet *burst, unsigned count)
{
	struct dpdk_port *d = dpdk_of(port);
	struct rte_mbuf *mbufs[PORT_BURST];
	if (!is_ready(d) || rte_mempool_get_bulk(d->device.tx_pool, (void **)mbufs, count) != 0)
		return 0;
	uint32_t capacity = rte_pktmbuf_data_room_size(d->device.tx_pool) - RTE_PKTMBUF_HEADROOM;
	for (unsigned i = 0; i < count; i++) {
		struct rte_mbuf *m = mbufs[i];
		memcpy((uint8_t *)m + REARM_AT, &d->rearm, sizeof d->rearm);
		m->ol_flags = 0;
		burst[i].data = (uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM;
		burst[i].length = d->tx_bytes;
		burst[i].capacity = capacity;
		burst[i].flow = 0;
		burst[i].handle = (uintptr_t)m;
	}
	return count;
}

static int dpdk_tx_commit(struct port *port, struct packet *burst, unsigned count)
{
	struct dpdk_port *d = dpdk_of(port);
	struct rte_mbuf *mbufs[PORT_BURST];
	if (!is_ready(d))
		return 0;
	for (unsigned i = 0; i < count; i++) {
		mbufs[i] = mbuf_of(&burst[i]);
		mbufs[i]->data_len = (uint16_t)burst[i].length;
		mbufs[i]->pkt_len = burst[i].length;
	}
	gate_enter(d->device.id, GATE_TX);
	int sent = rte_eth_tx_burst(d->device.id, 0, mbufs, (uint16_t)count);
	gate_leave(d->device.id, GATE_TX);
	return sent;
}

static int dpdk_tx_forward(struct port *port, struct packet *burst, unsigned count)
{
	struct packet mine[PORT_BURST];
	unsigned n = dpdk_tx_acquire(port, mine, count), fits;
	for (fits = 0; fits < n && burst[fits].length <= mine[fits].capacity; fits++) {
		memcpy(mine[fits].data, burst[fits].data, burst[fits].length);
		mine[fits].length = burst[fits].length;
	}
	int sent = fits ? dpdk_tx_commit(port, mine, fits) : 0;
	if ((unsigned)sent < n)
		dpdk_release(port, mine + sent, n - (unsigned)sent);
	return sent == 0 && fits == 0 && n > 0 ? -EMSGSIZE : sent;
}

static unsigned dpdk_pollfds(struct port *port, struct pollfd *fds, bool want_tx)
{
	struct dpdk_port *d = dpdk_of(port);
	(void)want_tx; /* no driver tells when there is room */
	if (port->config.wait != PORT_BLOCK || !d->receives || !is_ready(d))
		return 0;
	fds[0] = (struct pollfd){.fd = d->device.wake_fd, .events = POLLIN};
	return 1;
}

static bool dpdk_may_sleep(struct port *port)
{
	struct dpdk_port *d = dpdk_of(port);
	/* What a port that only sends is given, nobody would take. */
	if (!d->receives || !is_ready(d))
		return true;
	if (d->early_count > 0)
		return false;
	/* Asks each time: a peer that came back has an empty ring, without the request. And
	 * what announced nothing must not end the next sleep. */
	end_wake(d);
	d->asked = true;
	device_wake_ask(&d->device);
	d->early_count = receive(d, d->early, port->burst);
	return d->early_count == 0;
}

static void dpdk_refresh(struct port *port)
{
	struct dpdk_port *d = dpdk_of(port);
	struct rte_eth_stats stats;
	if (!is_ready(d) || rte_eth_stats_get(d->device.id, &stats) != 0)
		return;
	*d->rx_missed = stats.imissed;
	*d->rx_errors = stats.ierrors;
	*d->rx_no_buffer = stats.rx_nombuf;
	*d->tx_errors = stats.oerrors;
}

const struct port_ops port_dpdk = {
	.name = "dpdk",
	.layer = PORT_FRAME,
	.needs_peer = true,
	.takes_device = true,
	.open = dpdk_open,
	.close = dpdk_close,
	.start = dpdk_start,
	.connected = dpdk_connected,
	.reconnect = dpdk_reconnect,
	.rx_burst = dpdk_rx_burst,
	.rx_release = dpdk_release,
	.tx_acquire = dpdk_tx_acquire,
	.tx_commit = dpdk_tx_commit,
	.tx_release = dpdk_release,
	.tx_forward = dpdk_tx_forward,
	.tx_move = dpdk_tx_commit,
	.pollfds = dpdk_pollfds,
	.may_sleep = dpdk_may_sleep,
	.refresh = dpdk_refresh,
};
