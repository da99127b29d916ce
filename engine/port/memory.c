/*
 * memory: two ports joined in memory by a single-producer, single-consumer ring in each direction;
 * interface "loop..." is one port joined to itself. For benchmarks and tests: its costs are the
 * engine's own.
 *
 * A ring has fixed slots with their buffers, so packets are written and read in
 * place. The producer owns `head`, the consumer `tail`; each keeps a copy of the
 * other's, and rereads it only when that looks full or empty.
 */
#include "packet/frame.h"
#include "port/port.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_SLOTS = 512, CACHE_LINE = 64 };

struct memory_ring {
	_Alignas(CACHE_LINE) _Atomic uint32_t head;
	uint32_t tail_seen; /* the producer's copy */
	_Alignas(CACHE_LINE) _Atomic uint32_t tail;
	uint32_t head_seen; /* the consumer's copy */
	_Alignas(CACHE_LINE) uint32_t lengths[MEMORY_SLOTS];
	uint8_t *buffers;
	uint32_t stride;
};

struct memory_pair {
	struct memory_pair *next;
	char name[IFNAMSIZ];
	bool side_open[2];
	struct memory_ring rings[2]; /* [i] is written by side i */
};

struct memory_port {
	struct port port;
	struct memory_pair *pair;
	struct memory_ring *tx, *rx;
	int side;
};

/* Used only by the control thread. */
static struct memory_pair *pairs;

static struct memory_port *memory_of(struct port *port)
{
	return (struct memory_port *)port;
}

static void memory_pair_free(struct memory_pair *pair)
{
	for (struct memory_pair **at = &pairs; *at; at = &(*at)->next)
		if (*at == pair) {
			*at = pair->next;
			break;
		}
	free(pair->rings[0].buffers);
	free(pair->rings[1].buffers);
	free(pair);
}

static struct memory_pair *memory_pair_get(const struct port_config *c)
{
	for (struct memory_pair *p = pairs; p; p = p->next)
		if (strcmp(p->name, c->interface) == 0)
			return p;
	struct memory_pair *pair = aligned_alloc(CACHE_LINE, sizeof *pair);
	if (!pair)
		return NULL;
	memset(pair, 0, sizeof *pair);
	memcpy(pair->name, c->interface, sizeof pair->name);
	/* An odd number of cache lines, so that slots spread over all cache sets. */
	uint32_t lines = (c->frame_bytes + CACHE_LINE - 1) / CACHE_LINE;
	uint32_t stride = (lines | 1) * CACHE_LINE;
	for (int i = 0; i < 2; i++) {
		pair->rings[i].stride = stride;
		pair->rings[i].buffers = aligned_alloc(CACHE_LINE, (size_t)stride * MEMORY_SLOTS);
		if (pair->rings[i].buffers)
			memset(pair->rings[i].buffers, 0, (size_t)stride * MEMORY_SLOTS);
	}
	pair->next = pairs;
	pairs = pair;
	if (pair->rings[0].buffers && pair->rings[1].buffers)
		return pair;
	memory_pair_free(pair);
	return NULL;
}

static void memory_close(struct port *port)
{
	struct memory_port *m = memory_of(port);
	m->pair->side_open[m->side] = false;
	if (!m->pair->side_open[0] && !m->pair->side_open[1])
		memory_pair_free(m->pair);
	free(m);
}

static int memory_open(const struct port_config *c, struct port **out, char *error, size_t size)
{
	if (c->wait != PORT_SPIN) {
		snprintf(error, size, "a memory port cannot sleep: use \"wait\":\"spin\"");
		return -EINVAL;
	}
	bool loop = strncmp(c->interface, "loop", 4) == 0;
	struct memory_pair *pair = memory_pair_get(c);
	struct memory_port *m = calloc(1, sizeof *m);
	if (!pair || !m) {
		free(m);
		snprintf(error, size, "out of memory");
		return -ENOMEM;
	}
	int side = pair->side_open[0] ? 1 : 0;
	if (pair->side_open[side] || (loop && side == 1) ||
	    c->frame_bytes > pair->rings[0].stride) {
		free(m);
		snprintf(error, size, "%s: both ends are open, or its frames are smaller",
			 c->interface);
		return -EBUSY;
	}
	pair->side_open[side] = true;
	port_init(&m->port, &port_memory, c);
	m->pair = pair;
	m->side = side;
	m->tx = &pair->rings[side];
	m->rx = &pair->rings[loop ? side : 1 - side];
	snprintf(m->port.mode, sizeof m->port.mode, loop ? "loop" : "pair");
	*out = &m->port;
	return 0;
}

static int memory_start(struct port *port, unsigned directions)
{
	struct memory_ring *r = memory_of(port)->rx;
	if (directions & PORT_RX)
		atomic_store(&r->tail, atomic_load(&r->head));
	return 0;
}

static unsigned memory_rx_burst(struct port *port, struct packet *burst, unsigned max)
{
	struct memory_ring *r = memory_of(port)->rx;
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	uint32_t n = r->head_seen - tail;
	if (n == 0 || n > MEMORY_SLOTS) {
		r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
		n = r->head_seen - tail;
	}
	if (n > max)
		n = max;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = (tail + i) % MEMORY_SLOTS;
		burst[i].data = r->buffers + (size_t)slot * r->stride;
		burst[i].length = r->lengths[slot];
	}
	return n;
}

static void memory_rx_release(struct port *port, struct packet *burst, unsigned count)
{
	(void)burst;
	struct memory_ring *r = memory_of(port)->rx;
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	atomic_store_explicit(&r->tail, tail + count, memory_order_release);
}

static unsigned memory_tx_acquire(struct port *port, struct packet *burst, unsigned count)
{
	struct memory_ring *r = memory_of(port)->tx;
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint32_t room = MEMORY_SLOTS - (head - r->tail_seen);
	if (room < count || room > MEMORY_SLOTS) {
		r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
		room = MEMORY_SLOTS - (head - r->tail_seen);
	}
	uint32_t n = room < count ? room : count;
	uint32_t bytes = port->config.frame_bytes - FRAME_FCS_BYTES;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = (head + i) % MEMORY_SLOTS;
		burst[i] = (struct packet){.data = r->buffers + (size_t)slot * r->stride,
					   .length = bytes,
					   .capacity = r->stride,
					   .handle = slot};
	}
	return n;
}

static int memory_tx_commit(struct port *port, struct packet *burst, unsigned count)
{
	struct memory_ring *r = memory_of(port)->tx;
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	for (unsigned i = 0; i < count; i++)
		r->lengths[(head + i) % MEMORY_SLOTS] = burst[i].length;
	atomic_store_explicit(&r->head, head + count, memory_order_release);
	return (int)count;
}

static void memory_tx_release(struct port *port, struct packet *burst, unsigned count)
{
	(void)port, (void)burst, (void)count; /* not yet published, so nothing to free */
}

static int memory_tx_forward(struct port *port, struct packet *burst, unsigned count)
{
	struct packet mine[PORT_BURST];
	unsigned n = memory_tx_acquire(port, mine, count < PORT_BURST ? count : PORT_BURST);
	for (unsigned i = 0; i < n; i++) {
		if (burst[i].length > mine[i].capacity)
			return i ? memory_tx_commit(port, mine, i) : -EMSGSIZE;
		memcpy(mine[i].data, burst[i].data, burst[i].length);
		mine[i].length = burst[i].length;
	}
	return n ? memory_tx_commit(port, mine, n) : 0;
}

static unsigned memory_pollfds(struct port *port, struct pollfd *fds, bool want_tx)
{
	(void)port, (void)fds, (void)want_tx;
	return 0;
}

static void memory_refresh(struct port *port)
{
	(void)port; /* a full ring takes no packets: nothing is dropped here */
}

const struct port_ops port_memory = {
	.name = "memory",
	.layer = PORT_FRAME,
	.open = memory_open,
	.close = memory_close,
	.start = memory_start,
	.rx_burst = memory_rx_burst,
	.rx_release = memory_rx_release,
	.tx_acquire = memory_tx_acquire,
	.tx_commit = memory_tx_commit,
	.tx_release = memory_tx_release,
	.tx_forward = memory_tx_forward,
	.pollfds = memory_pollfds,
	.refresh = memory_refresh,
};
