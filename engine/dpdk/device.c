/* Opens and closes devices; see device.h. */
#include "dpdk/device.h"

#include "clock/clock.h"
#include "dpdk/eal.h"
#include "dpdk/eal_log.h"
#include "dpdk/interrupt_thread.h"
#include "dpdk/pool.h"

#include <errno.h>
#include <linux/bpf.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	QUEUE_SLOTS = 1024, /* unless the driver has its own default */
	ETHERNET_OVERHEAD = 18, /* header and FCS around an MTU */
	/* With its mbuf, its headroom and the kernel's, a frame is a chunk of the umem, at most a 4
	 * KiB page (xdp_umem_reg in xdp_umem.c). A pool makes that an odd number of cache lines, 63
	 * (optimize_object_size in rte_mempool.c). */
	AF_XDP_FRAME_MAX = 3392,
	BUFFER_ROOM_MAX = UINT16_MAX - RTE_PKTMBUF_HEADROOM, /* rte_mbuf.buf_len */
};

/* Says what failed, and adds the last of DPDK's log. */
static int fail(const struct device *d, int err, const char *what, char *error, size_t size)
{
	char log[240];
	eal_log_last(log, sizeof log, 3);
	snprintf(error, size, "cannot %s %s%s%s", what, d->text.name, log[0] ? "; DPDK says: " : "",
		 log);
	return err;
}

/* Finds the port that the probe created; a device's ports are named after it. */
static int find_port(struct device *d)
{
	struct rte_eth_dev_info info;
	uint16_t id;
	if (rte_eth_dev_get_port_by_name(d->text.name, &d->id) == 0)
		return 0;
	RTE_ETH_FOREACH_DEV(id)
	if (rte_eth_dev_info_get(id, &info) == 0 &&
	    strcmp(rte_dev_name(info.device), d->text.name) == 0) {
		d->id = id;
		return 0;
	}
	return -ENODEV;
}

static enum device_kind kind_of(const char *driver)
{
	static const struct {
		const char *driver;
		enum device_kind kind;
	} kinds[] = {
		{"net_memif", DEVICE_MEMIF},
		{"net_af_packet", DEVICE_AF_PACKET},
		{"net_af_xdp", DEVICE_AF_XDP},
	};
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(driver, kinds[i].driver) == 0)
			return kinds[i].kind;
	return DEVICE_OTHER;
}

/* The room in a buffer besides its headroom. */
static uint32_t buffer_room(uint32_t frame_bytes)
{
	uint32_t room =
		frame_bytes > RTE_MBUF_DEFAULT_DATAROOM ? frame_bytes : RTE_MBUF_DEFAULT_DATAROOM;
	/* virtio's header and VLAN tags count as received bytes. */
	return room + 64;
}

/* The same for received frames. */
static uint32_t rx_buffer_room(const struct device *d, uint32_t frame_bytes)
{
	uint32_t room = buffer_room(frame_bytes);
	switch (d->kind) {
	case DEVICE_AF_XDP:
		/* The kernel keeps this much free before a frame (xsk_pool_get_rx_frame_size). */
		return room + XDP_PACKET_HEADROOM;
	case DEVICE_AF_PACKET:
		/* It copies from a slot of its ring, and needs room for a whole slot. It reports
		 * itself if its slots are longer than any buffer. */
		if (d->text.slot_bytes > BUFFER_ROOM_MAX)
			return BUFFER_ROOM_MAX;
		return room > d->text.slot_bytes ? room : d->text.slot_bytes;
	default:
		return room;
	}
}

static int make_pools(struct device *d, uint32_t frame_bytes, char *error, size_t size)
{
	struct pool_config rx = {
		/* Received packets may also wait in another port's queue while they are
		 * forwarded. */
		.count = d->rx_slots + QUEUE_SLOTS + 2 * POOL_CACHE,
		.room = RTE_PKTMBUF_HEADROOM + rx_buffer_room(d, frame_bytes),
		.in_one_piece = d->kind == DEVICE_AF_XDP || !eal_memory_is_huge(),
	};
	struct pool_config tx = {
		.count = d->tx_slots + 2 * POOL_CACHE,
		.room = RTE_PKTMBUF_HEADROOM + buffer_room(frame_bytes),
		.in_one_piece = !eal_memory_is_huge(),
	};
	snprintf(rx.name, sizeof rx.name, "rx%u", d->id);
	snprintf(tx.name, sizeof tx.name, "tx%u", d->id);
	d->rx_pool = pool_make(&rx);
	d->tx_pool = d->rx_pool ? pool_make(&tx) : NULL;
	if (d->tx_pool)
		return 0;
	snprintf(
		error, size,
		"no memory for the buffers of %s, %u of %u bytes and %u of %u: start DPDK with more "
		"\"memory_bytes\" (dpdk.memory of an experiment)",
		d->text.name, rx.count, rx.room, tx.count, tx.room);
	return -ENOMEM;
}

/* Whether the driver has a settable MTU. The others take any frame that fits: memif's limit is its
 * bsize, af_packet's the kernel interface and a slot of its ring, though it claims a longest frame
 * of 1,518 bytes (eth_dev_info in rte_eth_af_packet.c). */
static bool takes_mtu(const struct device *d)
{
	return d->kind != DEVICE_MEMIF && d->kind != DEVICE_AF_PACKET;
}

/* Refuses what AF_XDP would silently lose. */
static int check_af_xdp(const struct device *d, uint32_t frame_bytes, char *error, size_t size)
{
	if (frame_bytes > AF_XDP_FRAME_MAX) {
		snprintf(error, size,
			 "%s supports frames of at most %d bytes, but they have %u: use "
			 "net_af_packet, or smaller ones",
			 d->text.name, AF_XDP_FRAME_MAX, frame_bytes);
		return -EMSGSIZE;
	}
	/* Contiguous buffers (pool.h) cross page borders, which is impossible with physical
	 * addresses. */
	if (rte_eal_iova_mode() != RTE_IOVA_VA) {
		snprintf(error, size,
			 "%s would lose packets beside a PCI device for which no IOMMU translates: "
			 "use net_af_packet, or turn the IOMMU on and bind that device to vfio-pci",
			 d->text.name);
		return -ENOTSUP;
	}
	return 0;
}

/* Finds the file descriptor of the receive queue's interrupt. */
static int find_interrupt(struct device *d, char *error, size_t size)
{
	d->wake_fd = rte_eth_dev_rx_intr_ctl_q_get_fd(d->id, 0);
	if (d->wake_fd >= 0 && rte_eth_dev_rx_intr_disable(d->id, 0) == 0)
		return 0;
	snprintf(error, size,
		 "%s has no receive interrupts, so a thread cannot sleep on it: use "
		 "\"wait\":\"spin\"",
		 d->text.name);
	return -ENOTSUP;
}

static int configure(struct device *d, const struct rte_eth_dev_info *info, uint32_t frame_bytes,
		     bool wakes, char *error, size_t size)
{
	struct rte_eth_conf conf = {0};
	int err = d->kind == DEVICE_AF_XDP ? check_af_xdp(d, frame_bytes, error, size) : 0;
	if (err)
		return err;
	if (frame_bytes > RTE_ETHER_MAX_LEN && takes_mtu(d))
		conf.rxmode.mtu = frame_bytes - ETHERNET_OVERHEAD;
	conf.intr_conf.rxq = wakes;
	d->rx_slots = info->default_rxportconf.ring_size ?: QUEUE_SLOTS;
	d->tx_slots = info->default_txportconf.ring_size ?: QUEUE_SLOTS;
	err = rte_eth_dev_configure(d->id, 1, 1, &conf);
	if (err)
		return fail(d, err, "configure", error, size);
	err = rte_eth_dev_adjust_nb_rx_tx_desc(d->id, &d->rx_slots, &d->tx_slots);
	if (err)
		return fail(d, err, "size the queues of", error, size);
	err = make_pools(d, frame_bytes, error, size);
	if (err)
		return err;
	int node = eal_memory_node();
	err = rte_eth_rx_queue_setup(d->id, 0, d->rx_slots, (unsigned)node, NULL, d->rx_pool);
	if (err)
		return fail(d, err, "set up the receive queue of", error, size);
	err = rte_eth_tx_queue_setup(d->id, 0, d->tx_slots, (unsigned)node, NULL);
	if (err)
		return fail(d, err, "set up the send queue of", error, size);
	d->started_ns = clock_monotonic_ns();
	err = rte_eth_dev_start(d->id);
	if (err)
		return fail(d, err, "start", error, size);
	d->promiscuous = rte_eth_promiscuous_enable(d->id) == 0;
	return wakes ? find_interrupt(d, error, size) : 0;
}

static void stop_and_close(void *arg)
{
	struct device *d = arg;
	rte_eth_dev_stop(d->id);
	rte_eth_dev_close(d->id);
}

static void restart(void *arg)
{
	struct device *d = arg;
	rte_eth_dev_stop(d->id);
	d->started_ns = clock_monotonic_ns();
	d->was_up = rte_eth_dev_start(d->id) != 0;
}

/* Runs `work` where no other thread can interfere, for the driver that takes no lock. */
static void do_exclusively(struct device *d, void (*work)(void *))
{
	if (d->kind != DEVICE_MEMIF || interrupt_thread_run(work, d) != 0)
		work(d);
}

static void remove_device(struct device *d)
{
	struct rte_eth_dev_info info;
	struct rte_device *device = NULL;
	if (rte_eth_dev_info_get(d->id, &info) == 0)
		device = info.device;
	do_exclusively(d, stop_and_close);
	if (device)
		rte_dev_remove(device);
	/* Not earlier: the queues held buffers of these pools. */
	rte_mempool_free(d->rx_pool);
	rte_mempool_free(d->tx_pool);
}

int device_open(struct device *d, const char *text, uint32_t frame_bytes, bool wakes, char *error,
		size_t size)
{
	struct rte_eth_dev_info info;
	memset(d, 0, sizeof *d);
	d->wake_fd = -1;
	if (!eal_is_started()) {
		snprintf(error, size, "DPDK is not started: send the command dpdk first");
		return -ENXIO;
	}
	int err = device_text_parse(text, &d->text, error, size);
	err = err ?: device_socket_clear(&d->text, error, size);
	if (err)
		return err;
	char grown[640];
	eal_log_clear();
	err = rte_dev_probe(device_text_grow(text, &d->text, frame_bytes, grown, sizeof grown));
	if (err)
		return fail(d, -ENODEV, "open", error, size); /* EAL's own errno is arbitrary */
	err = find_port(d);
	if (err)
		return fail(d, err, "find a network port of", error, size);
	err = rte_eth_dev_info_get(d->id, &info);
	d->kind = err ? DEVICE_OTHER : kind_of(info.driver_name);
	err = err ? fail(d, err, "ask about", error, size)
		  : configure(d, &info, frame_bytes, wakes, error, size);
	if (err) {
		remove_device(d);
		return err;
	}
	d->node = rte_eth_dev_socket_id(d->id);
	snprintf(d->driver, sizeof d->driver, "%s", info.driver_name);
	return 0;
}

void device_close(struct device *d)
{
	remove_device(d);
}

/* How long the first connection may take: a few messages between threads on shared CPUs. */
#define CONNECT_NS UINT64_C(1000000000)

void device_reconnect(struct device *d)
{
	if (!d->text.awaits_peer || device_is_up(d) || !device_socket_listens(d->text.socket))
		return;
	/* It is connecting, or was refused: memif's server listens before it is started, and
	 * refuses clients until then ("ID not found" in memif_socket.c). */
	if (!d->was_up && clock_monotonic_ns() - d->started_ns < CONNECT_NS)
		return;
	do_exclusively(d, restart);
}

bool device_is_up(struct device *d)
{
	struct rte_eth_link link = {0};
	bool up = rte_eth_link_get_nowait(d->id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
	d->was_up = d->was_up || up;
	return up;
}

void device_wake_ask(struct device *d)
{
	rte_eth_dev_rx_intr_enable(d->id, 0);
}

void device_wake_end(struct device *d)
{
	uint64_t count;
	rte_eth_dev_rx_intr_disable(d->id, 0);
	/* It does not block. One that was not signalled has nothing to read. */
	while (read(d->wake_fd, &count, sizeof count) < 0 && errno == EINTR)
		;
}
