/*
 * vhost: the device side of a virtio-net interface. The guest is another process or a virtual
 * machine, connected by a vhost-user socket ("device") and shared memory. Needs neither DPDK nor
 * its hugepages; only the guest may use hugepages.
 *
 *   vhost.c          the port
 *   vhost_session.c  the socket, and a thread on it
 *   vhost_message.c  vhost_device.c: the protocol
 *   vhost_memory.c   vhost_fault.c: the guest's memory, and what happens if it goes away
 *   vhost_guard.c    how the two threads stay out of each other's way
 *   vhost_rx.c vhost_tx.c: the rings
 *   vhost_call.c     waking the guest
 *
 * rx_burst lends the guest's own memory. tx_forward copies into the guest's: the only copy on the
 * path from guest to guest. Bursts are released in the order in which they were received.
 */
#include "packet/frame.h"
#include "port/port.h"
#include "port/vhost_session.h"
#include "refusal/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vhost_port {
	struct port port;
	struct vhost_queue queues[VHOST_RINGS];
	struct vhost_session session;
	uint8_t *staging; /* the buffers that tx_acquire lends */
	uint32_t stride;
};

static struct vhost_port *vhost_of(struct port *port)
{
	return (struct vhost_port *)port;
}

static void vhost_free(struct vhost_port *v)
{
	for (int i = 0; i < VHOST_RINGS; i++)
		vhost_call_close(&v->queues[i].call);
	free(v->queues[VHOST_FROM_GUEST].joined);
	free(v->staging);
	free(v);
}

static void vhost_close(struct port *port)
{
	struct vhost_port *v = vhost_of(port);
	vhost_session_stop(&v->session);
	vhost_free(v);
}

static int vhost_open(const struct port_config *c, struct port **out, char *error, size_t size)
{
	if (c->wait != PORT_SPIN) {
		snprintf(error, size,
			 "a vhost port polls its guest's rings: use \"wait\":\"spin\"");
		return -EINVAL;
	}
	int err = vhost_guard_init();
	if (err) {
		refusal_say(error, size, err, -1, "a vhost port needs membarrier(2)%s",
			    err == -ENOSYS ? " (CONFIG_MEMBARRIER)" : "");
		return err;
	}
	struct vhost_port *v = aligned_alloc(64, (sizeof *v + 63) / 64 * 64);
	if (!v)
		return -ENOMEM;
	memset(v, 0, sizeof *v);
	for (int i = 0; i < VHOST_RINGS; i++) {
		int failed = vhost_call_open(&v->queues[i].call);
		err = err ? err : failed;
	}
	if (err) {
		static const char what[] = "a vhost port needs asynchronous I/O to wake its guest";
		if (err == -EAGAIN) /* io_setup(2) */
			snprintf(error, size,
				 "%s, of which the host has no more: sysctl fs.aio-max-nr", what);
		else
			refusal_say(error, size, err, -1, "%s%s", what,
				    err == -ENOSYS ? " (CONFIG_AIO)" : "");
		vhost_free(v);
		return err;
	}
	port_init(&v->port, &port_vhost, c);
	struct vhost_queue *from = &v->queues[VHOST_FROM_GUEST], *to = &v->queues[VHOST_TO_GUEST];
	from->malformed = port_drop_counter(&v->port, "rx_malformed");
	from->too_long = port_drop_counter(&v->port, "rx_too_long");
	to->malformed = port_drop_counter(&v->port, "tx_malformed");
	from->joined = malloc((size_t)VHOST_LENT_MAX * VHOST_FRAME_MAX);
	/* An odd number of cache lines, so that buffers spread over all cache sets. */
	v->stride = (c->frame_bytes / 64 | 1) * 64 + 128;
	v->staging = calloc(PORT_BURST, v->stride);
	snprintf(error, size, "cannot allocate the packet memory");
	err = from->joined && v->staging
		      ? vhost_session_start(&v->session, v->queues, v->port.config.device,
					    c->server, error, size)
		      : -ENOMEM;
	if (err) {
		vhost_free(v);
		return err;
	}
	snprintf(v->port.mode, sizeof v->port.mode, "vhost-user %s",
		 c->server ? "server" : "client");
	*out = &v->port;
	return 0;
}

/* Stays inside the guard from the first lent packet until the last is returned. */
static bool begin_rx(struct vhost_queue *q)
{
	if (q->taken != q->returned)
		return vhost_guard_is_open(&q->guard);
	return vhost_guard_enter(&q->guard);
}

static void end_rx(struct vhost_queue *q)
{
	if (q->taken == q->returned)
		vhost_guard_leave(&q->guard);
}

static void tell_to_guest(struct vhost_port *v, bool idle)
{
	struct vhost_queue *q = &v->queues[VHOST_TO_GUEST];
	if (!q->must_tell || !vhost_guard_enter(&q->guard))
		return;
	vhost_tell_later(q, idle);
	vhost_guard_leave(&q->guard);
}

static unsigned vhost_rx_burst(struct port *port, struct packet *burst, unsigned max)
{
	struct vhost_port *v = vhost_of(port);
	struct vhost_queue *q = &v->queues[VHOST_FROM_GUEST];
	if (!begin_rx(q))
		return 0;
	unsigned n = vhost_receive(q, burst, max);
	vhost_tell_later(q, n == 0);
	end_rx(q);
	if (!port->tx_shared)
		tell_to_guest(v, n == 0);
	return n;
}

static void vhost_rx_release(struct port *port, struct packet *burst, unsigned count)
{
	struct vhost_queue *q = &vhost_of(port)->queues[VHOST_FROM_GUEST];
	if (count == 0)
		return;
	uint16_t until = (uint16_t)(burst[count - 1].handle + 1);
	/* The guest writes its next frames here. */
	for (unsigned i = 0; i < count; i++)
		vhost_demote(burst[i].data);
	vhost_return(q, until);
	end_rx(q);
}

static int vhost_start(struct port *port, unsigned directions)
{
	struct packet burst[PORT_BURST];
	(void)directions;
	/* Drops the packets that wait now, but not those that keep arriving. */
	for (uint32_t left = VHOST_QUEUE_MAX; left >= PORT_BURST; left -= PORT_BURST) {
		unsigned n = vhost_rx_burst(port, burst, PORT_BURST);
		if (n == 0)
			break;
		vhost_rx_release(port, burst, n);
	}
	return 0;
}

static int vhost_tx_forward(struct port *port, struct packet *burst, unsigned count)
{
	struct vhost_queue *q = &vhost_of(port)->queues[VHOST_TO_GUEST];
	if (!vhost_guard_enter(&q->guard))
		return 0;
	int n = vhost_send(q, burst, count < PORT_BURST ? count : PORT_BURST);
	if (port->tx_shared && q->must_tell)
		vhost_tell(q);
	vhost_guard_leave(&q->guard);
	return n;
}

static unsigned vhost_tx_acquire(struct port *port, struct packet *burst, unsigned count)
{
	struct vhost_port *v = vhost_of(port);
	uint32_t bytes = port->config.frame_bytes - FRAME_FCS_BYTES;
	for (unsigned i = 0; i < count; i++)
		burst[i] = (struct packet){.data = v->staging + (size_t)i * v->stride,
					   .length = bytes,
					   .capacity = v->stride};
	return count;
}

static int vhost_tx_commit(struct port *port, struct packet *burst, unsigned count)
{
	struct vhost_queue *q = &vhost_of(port)->queues[VHOST_TO_GUEST];
	if (!vhost_guard_enter(&q->guard))
		return 0;
	int n = vhost_send(q, burst, count < PORT_BURST ? count : PORT_BURST);
	if (q->must_tell)
		vhost_tell(q);
	vhost_guard_leave(&q->guard);
	return n;
}

static void vhost_tx_release(struct port *port, struct packet *burst, unsigned count)
{
	(void)port, (void)burst, (void)count; /* the next call uses the buffers again */
}

static unsigned vhost_pollfds(struct port *port, struct pollfd *fds, bool want_tx)
{
	(void)port, (void)fds, (void)want_tx;
	return 0;
}

static void vhost_refresh(struct port *port)
{
	(void)port; /* drops are counted as they happen */
}

/* True if both directions are open. */
static bool vhost_connected(struct port *port)
{
	struct vhost_port *v = vhost_of(port);
	return vhost_guard_is_open(&v->queues[VHOST_TO_GUEST].guard) &&
	       vhost_guard_is_open(&v->queues[VHOST_FROM_GUEST].guard);
}

static void vhost_state(struct port *port, char *text, size_t size)
{
	vhost_session_state(&vhost_of(port)->session, text, size);
}

const struct port_ops port_vhost = {
	.name = "vhost",
	.layer = PORT_FRAME,
	.needs_peer = true,
	.takes_device = true,
	.open = vhost_open,
	.close = vhost_close,
	.start = vhost_start,
	.connected = vhost_connected,
	.rx_burst = vhost_rx_burst,
	.rx_release = vhost_rx_release,
	.tx_acquire = vhost_tx_acquire,
	.tx_commit = vhost_tx_commit,
	.tx_release = vhost_tx_release,
	.tx_forward = vhost_tx_forward,
	.pollfds = vhost_pollfds,
	.refresh = vhost_refresh,
	.state = vhost_state,
};
