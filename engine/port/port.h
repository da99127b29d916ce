/*
 * port: sends and receives packets. One file per backend: udp.c, raw.c, ring.c, xdp.c, dpdk.c,
 * memory.c, fault.c; port.c lists them.
 *
 * The path of a packet, out: tx_acquire  gives empty buffers of the port
 *                            (the role writes them)
 *                            tx_commit   sends them; the caller keeps those it did not take
 *                            tx_release  frees those that are not sent after all
 *                    and in: rx_burst    gives received packets, still in the port's buffers
 *                            (the role reads them)
 *                            rx_release  gives the buffers back
 *       from port to port:   tx_forward  sends packets that another port received;
 *                            the caller keeps them and releases them to that port
 *                            tx_move     the same between two ports of a backend whose buffers can
 *                            change ports: the caller no longer owns those it took
 *
 * Buffers are lent, never copied by the interface: a backend whose buffers the
 * kernel or a device shares (rings, DPDK mbufs) sends and receives in place;
 * `handle` is the backend's identifier of the buffer (a frame address, an mbuf).
 *
 * A port belongs to one thread at a time: the control thread opens, starts and
 * closes it; the measuring thread uses it in between. No operation blocks; a
 * thread with nothing to do sleeps on port_pollfds.
 *
 * Errors are -errno. The port counts every packet that it drops, by reason.
 */
#ifndef NINES_PORT_H
#define NINES_PORT_H

#include "packet/signature.h"
#include "port/address.h"

#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PORT_BURST = 64, /* most packets in one call */
	PORT_NAME_MAX = 64, /* of a port, with its NUL */
	PORT_NOTES_MAX = 8,
	PORT_COUNTERS_MAX = 12,
	PORT_POLLFDS_MAX = 2,
	PORT_DEVICE_MAX = 512, /* of a device's name and arguments, with their NUL */
};

/* What the buffers hold. */
enum port_layer {
	PORT_FRAME, /* an Ethernet frame without its FCS */
	PORT_PAYLOAD, /* what follows the UDP header */
};

/* One packet per call, or a burst. mmsg bursts are never segmented (segment.h), and large bursts of
 * xdp_frames leave as XDP frames (xdp_frames.h; backend xdp). */
enum port_io { PORT_SINGLE, PORT_BATCH, PORT_MMSG, PORT_XDP_FRAMES };
enum port_wait { PORT_BLOCK, PORT_SPIN, PORT_BUSY_POLL };
/* Which frames of an interface a port takes. */
enum port_frames { PORT_FRAMES_UDP, PORT_FRAMES_ALL };
enum port_flow_field { PORT_FLOW_SOURCE_PORT, PORT_FLOW_SOURCE_ADDRESS };

/* The directions that a role will use; some ports are faster if they know them. */
enum port_direction {
	PORT_RX = 1,
	PORT_TX = 2,
	PORT_REFLECT = 4, /* tx_forward sends packets back to their sender */
};

struct packet {
	uint8_t *data;
	uint32_t length; /* bytes at data; on tx set by the role, at most capacity */
	uint32_t capacity; /* of the buffer, tx only */
	uint32_t flow; /* tx: which flow, below port_config.flows */
	uint64_t handle;
};

/* Probabilities per packet, for the fault backend. */
struct port_fault {
	double drop, duplicate, reorder, corrupt, delay;
	uint64_t delay_ns;
	uint64_t seed;
};

struct port_config {
	char name[PORT_NAME_MAX];
	char interface[IFNAMSIZ];
	char device[PORT_DEVICE_MAX]; /* dpdk: as --vdev or a PCI address; vhost: its socket */
	bool server; /* vhost: listen on the socket */
	/* xdp: a pinned XSKMAP of the interface's program, which another process has loaded */
	char map[PORT_DEVICE_MAX];
	enum port_frames frames;
	enum port_io io;
	enum port_wait wait;
	uint8_t local_mac[6], peer_mac[6];
	struct in6_addr local_ip, peer_ip;
	struct in6_addr sender_ip; /* of flow 0 of the packets that it receives; none: peer_ip */
	bool has_local_mac, has_peer_mac;
	uint16_t udp_port;
	uint32_t frame_bytes; /* with FCS */
	uint32_t flows;
	enum port_flow_field flow_field;
	struct port_fault fault;
};

/* Whether its packets are IPv6: none of its addresses says otherwise. */
static inline bool port_is_ip6(const struct port_config *c)
{
	return address_is_ip6(&c->local_ip) || address_is_ip6(&c->peer_ip) ||
	       address_is_ip6(&c->sender_ip);
}

struct port_counter {
	const char *name;
	uint64_t count;
};

struct port;

enum { PORT_WAYS_BESIDE = 1 };

struct port_ops {
	const char *name;
	enum port_layer layer;
	bool needs_peer; /* sending needs addresses */
	bool takes_device; /* uses config.device, not config.interface */
	/* Allocates the port; on failure, `error` says what to do. */
	int (*open)(const struct port_config *config, struct port **port, char *error,
		    size_t error_size);
	void (*close)(struct port *port);
	/* Called before a role begins: drops the packets that wait to be received. */
	int (*start)(struct port *port, unsigned directions);
	unsigned (*rx_burst)(struct port *port, struct packet *burst, unsigned max);
	void (*rx_release)(struct port *port, struct packet *burst, unsigned count);
	unsigned (*tx_acquire)(struct port *port, struct packet *burst, unsigned count);
	/* How many were taken, counted from the first. -errno: the first can never be sent. 0:
	 * full, try again. */
	int (*tx_commit)(struct port *port, struct packet *burst, unsigned count);
	void (*tx_release)(struct port *port, struct packet *burst, unsigned count);
	int (*tx_forward)(struct port *port, struct packet *burst, unsigned count);
	/* Sends received buffers of a port with the same ops, and takes ownership of them. NULL:
	 * the backend's buffers cannot change ports. Returns the same as tx_commit. */
	int (*tx_move)(struct port *port, struct packet *burst, unsigned count);
	/* Whether the other end is connected. NULL: always, or unknown. Control thread. */
	bool (*connected)(struct port *port);
	/* Looks for an other end that was lost and came back. NULL: the backend does this by
	 * itself. Called while no role uses the port. */
	void (*reconnect)(struct port *port);
	/* File descriptors to sleep on, with events for receiving, and for sending if `want_tx`. */
	unsigned (*pollfds)(struct port *port, struct pollfd *fds, bool want_tx);
	/* Called before each sleep on pollfds: asks for packets to be announced there, and returns
	 * false if some have come, so that the thread must not sleep. NULL: they always are. */
	bool (*may_sleep)(struct port *port);
	/* Reads the kernel's drop counters into port->drops. Called by the control thread, or when
	 * the role is done. */
	void (*refresh)(struct port *port);
	/* Counts from now on the ways of measured packets whose headers the port's buffers lack, and
	 * reads what was counted. PORT_WAYS_BESIDE: only what message_ways.h counts, and `error` says
	 * why. NULL: the buffers have the headers. Control thread. */
	int (*ways_begin)(struct port *port, char *error, size_t size);
	int (*ways_read)(struct port *port, struct signatures *out);
	/* "up", "waiting" for its peer, or "failed: why"; NULL: use `connected`. Control
	 * thread. */
	void (*state)(struct port *port, char *text, size_t size);
};

/* The public part: the first member of each backend's struct. */
struct port {
	const struct port_ops *ops;
	struct port_config config;
	unsigned burst; /* packets per call: 1 for single */
	bool accepts_partial; /* frames may carry the kernel's partial checksum */
	bool tx_shared; /* several threads send in turns, under their own lock */
	bool tx_dirty; /* buffers may hold old bytes after the data */
	char mode[32]; /* the mode that the backend got, such as "copy" */
	char waits[32]; /* how a thread waits for packets: "block", "busy_poll by epoll" */
	char notes[PORT_NOTES_MAX][160];
	unsigned note_count;
	uint64_t rx_packets, tx_packets;
	struct port_counter drops[PORT_COUNTERS_MAX];
	unsigned drop_count;
};

/* NULL-terminated; fault and memory are for tests and benchmarks. */
extern const struct port_ops *const port_backends[];
extern const struct port_ops port_udp, port_raw, port_ring, port_xdp, port_memory, port_fault;
extern const struct port_ops port_dpdk, port_vhost;

const struct port_ops *port_backend(const char *name);

/* The first step of every backend's `open`. */
void port_init(struct port *port, const struct port_ops *ops, const struct port_config *config);
void port_note(struct port *port, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Registers a drop counter; the pointer is valid until the port closes. */
uint64_t *port_drop_counter(struct port *port, const char *name);

/* One thread writes; the control thread may read at the same time. */
static inline void port_count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static inline unsigned port_rx_burst(struct port *p, struct packet *burst, unsigned max)
{
	unsigned n = p->ops->rx_burst(p, burst, max < p->burst ? max : p->burst);
	port_count(&p->rx_packets, n);
	return n;
}

static inline int port_tx_commit(struct port *p, struct packet *burst, unsigned count)
{
	int n = p->ops->tx_commit(p, burst, count);
	if (n > 0)
		port_count(&p->tx_packets, (unsigned)n);
	return n;
}

static inline int port_tx_forward(struct port *p, struct packet *burst, unsigned count)
{
	int n = p->ops->tx_forward(p, burst, count);
	if (n > 0)
		port_count(&p->tx_packets, (unsigned)n);
	return n;
}

static inline int port_tx_move(struct port *p, struct packet *burst, unsigned count)
{
	int n = p->ops->tx_move(p, burst, count);
	if (n > 0)
		port_count(&p->tx_packets, (unsigned)n);
	return n;
}

static inline bool port_may_sleep(struct port *p)
{
	return !p->ops->may_sleep || p->ops->may_sleep(p);
}

static inline bool port_connected(struct port *p)
{
	return !p->ops->connected || p->ops->connected(p);
}

#endif
