/* Forwards and reflects; see service.h. */
#include "role/service.h"

#include "clock/clock.h"
#include "packet/frame.h"
#include "role/order.h"
#include "role/sleeper.h"
#include "role/thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { SLEEP_MAX_NS = 1000000000, GAP_FLOOR_NS = 1000, PEERS_EVERY_NS = 500000000 };

/* Rewrites a received frame to leave through the lane's other end. */
static void rewrite(const struct lane *lane, struct packet *p)
{
	struct frame_header *h = (struct frame_header *)p->data;
	const struct port_config *to = &lane->to->config;
	if (lane->from->accepts_partial)
		frame_complete_checksum(p->data, p->length);
	if (lane->from == lane->to) {
		frame_swap(p->data);
		return;
	}
	memcpy(h->source, to->local_mac, 6);
	if (to->has_peer_mac)
		memcpy(h->destination, to->peer_mac, 6);
	if (address_given(&to->peer_ip))
		frame_set_destination(p->data, &to->peer_ip);
}

/* Sends a burst, and drops what the port does not take at once. With `moves`, the packets change
 * ports, and those not taken are released to the one that they came by. */
static void send_burst(const struct lane *lane, struct packet *burst, unsigned count, bool moves)
{
	struct port *from = lane->from, *to = lane->to;
	unsigned sent = 0;
	while (sent < count) {
		int n = moves ? port_tx_move(to, burst + sent, count - sent)
			      : port_tx_forward(to, burst + sent, count - sent);
		if (n > 0) {
			sent += (unsigned)n;
		} else if (n == 0) {
			port_count(lane->tx_full, count - sent);
			break;
		} else {
			port_count(lane->tx_failed, 1);
			if (moves)
				from->ops->rx_release(from, burst + sent, 1);
			sent++;
		}
	}
	if (moves && sent < count)
		from->ops->rx_release(from, burst + sent, count - sent);
}

/* Takes the time that the lane's packets are said to need. */
static void work(const struct lane *lane, unsigned packets)
{
	uint64_t begun = clock_ticks();
	while (clock_ticks() - begun < lane->work_ticks * packets)
		;
}

/* Forwards one burst; returns the number received. */
static unsigned forward_burst(const struct lane *lane)
{
	struct packet burst[PORT_BURST], ours[PORT_BURST];
	struct port *from = lane->from;
	bool moves = from->ops == lane->to->ops && from->ops->tx_move;
	unsigned received = port_rx_burst(from, burst, PORT_BURST), count = 0;
	if (received == 0)
		return 0;
	for (unsigned i = 0; i < received; i++) {
		if (from->ops->layer == PORT_FRAME) {
			if (!frame_is_udp_to(burst[i].data, burst[i].length,
					     from->config.udp_port)) {
				port_count(lane->foreign, 1);
				if (moves)
					from->ops->rx_release(from, &burst[i], 1);
				continue;
			}
			rewrite(lane, &burst[i]);
		}
		ours[count] = burst[i];
		ours[count++].flow = 0;
	}
	if (lane->work_ticks)
		work(lane, count);
	send_burst(lane, ours, count, moves);
	if (!moves)
		from->ops->rx_release(from, burst, received);
	return received;
}

/* Reconnects to a peer that left and came back, if the port does not do that itself. Only the
 * thread that polls the port may stop it. */
static void look_for_peers(struct service *s)
{
	for (unsigned i = 0; i < s->config.port_count; i++) {
		struct port *port = s->config.ports[i];
		if (port->ops->reconnect && !port_connected(port))
			port->ops->reconnect(port);
	}
}

/* How long a service may sleep. A timeout would delay each packet that wakes it: see sleeper.h. Only
 * ports without anything to sleep on have to be looked at, and those whose peer may leave and come
 * back; and only polling takes a timeout. */
static uint64_t longest_sleep(const struct service *s, enum port_wait wait)
{
	struct pollfd fds[PORT_POLLFDS_MAX];
	for (unsigned i = 0; i < s->config.port_count; i++) {
		struct port *port = s->config.ports[i];
		if (wait != PORT_BLOCK || port->ops->reconnect ||
		    !port->ops->pollfds(port, fds, false))
			return SLEEP_MAX_NS;
	}
	return THREAD_NO_TIMEOUT;
}

/* Whether it serves both sides of a duet. */
static bool both_sides(const struct service_config *c)
{
	return c->port_count > (c->reflects ? 1 : 2);
}

static void *service_loop(void *arg)
{
	struct service *s = arg;
	unsigned count = s->config.port_count;
	enum port_wait wait = thread_wait(s->config.ports, count);
	struct order order = order_of(both_sides(&s->config) ? count : 0, s->start_ticks);
	const struct clock_scale *scale = &clock_global.scale;
	uint64_t sleep_ns = longest_sleep(s, wait);
	uint64_t patience = clock_ns_to_ticks(scale, THREAD_BUSY_POLL_NS);
	int awake = -1;
	s->tid = thread_begin("nines-serve");
	thread_scheduling(s->scheduling, sizeof s->scheduling);
	if (wait == PORT_SPIN)
		awake = thread_hold_awake();
	uint64_t peers_every = clock_ns_to_ticks(scale, PEERS_EVERY_NS);
	struct sleeper sleeper;
	sleeper_open(&sleeper, s->config.ports, count, s->stop_fd, false);
	uint64_t now = clock_ticks(), active = now, looked = now;
	gaps_begin(&s->gaps, now);
	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		unsigned packets = 0;
		order_draw(&order);
		for (unsigned i = 0; i < count; i++)
			packets += forward_burst(&s->lanes[order.places[i]]);
		now = clock_ticks();
		gaps_turn(&s->gaps, now, packets, 0);
		if (packets) {
			active = now;
		} else if (wait == PORT_BLOCK || sleeper_polls(&sleeper) ||
			   (wait == PORT_BUSY_POLL && now - active > patience)) {
			sleeper_sleep(&sleeper, sleep_ns);
			gaps_begin(&s->gaps, clock_ticks());
		}
		if (now - looked > peers_every) {
			looked = now;
			look_for_peers(s);
			gaps_begin(&s->gaps, clock_ticks());
		}
	}
	sleeper_close(&sleeper);
	if (awake >= 0)
		close(awake);
	return NULL;
}

static int check_layers(const struct service_config *c, char *error, size_t size)
{
	for (unsigned i = 0; i + 1 < c->port_count && !c->reflects; i += 2)
		if (c->ports[i]->ops->layer != c->ports[i + 1]->ops->layer) {
			snprintf(error, size,
				 "cannot forward between udp and a backend of frames: open both as "
				 "udp, or both as raw, ring or xdp");
			return -EINVAL;
		}
	return 0;
}

static int start_lane(struct service *s, unsigned at, char *error, size_t size)
{
	const struct service_config *c = &s->config;
	struct lane *lane = &s->lanes[at];
	struct port *port = c->ports[at];
	*lane = (struct lane){
		.from = port,
		.to = c->ports[c->reflects ? at : at ^ 1],
		.work_ticks = c->work_ticks[c->reflects ? at : at / 2],
		.foreign = port_drop_counter(port, "rx_foreign"),
	};
	lane->tx_full = port_drop_counter(lane->to, "tx_full");
	lane->tx_failed = port_drop_counter(lane->to, "tx_failed");
	port->tx_dirty = true;
	int err = port->ops->start(port, PORT_RX | PORT_TX | (c->reflects ? PORT_REFLECT : 0));
	if (err)
		snprintf(error, size, "cannot start port %s", port->config.name);
	return err;
}

int service_start(struct service **out, const struct service_config *config, char *error,
		  size_t size)
{
	int err = check_layers(config, error, size);
	if (err)
		return err;
	struct service *s = calloc(1, sizeof *s);
	if (!s) {
		snprintf(error, size, "out of memory");
		return -ENOMEM;
	}
	s->config = *config;
	gaps_init(&s->gaps, clock_ns_to_ticks(&clock_global.scale, GAP_FLOOR_NS));
	s->start_ticks = clock_ticks();
	s->stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (s->stop_fd < 0) {
		err = -errno;
		snprintf(error, size, "cannot make an eventfd");
		goto fail;
	}
	for (unsigned i = 0; i < config->port_count && !err; i++)
		err = start_lane(s, i, error, size);
	if (!err)
		err = thread_start(&s->thread, config->cpu, service_loop, s, error, size);
	if (err)
		goto fail;
	*out = s;
	return 0;
fail:
	if (s->stop_fd >= 0)
		close(s->stop_fd);
	free(s);
	return err;
}

int service_list(struct service *s, uint32_t room)
{
	if (s->interruptions)
		return -EALREADY; /* the thread may be adding to that one */
	int err = interruptions_new(&s->interruptions, room);
	if (!err)
		interruptions_begin(s->interruptions, &s->gaps);
	return err;
}

void service_stop(struct service *s)
{
	uint64_t one = 1;
	atomic_store(&s->stop, true);
	if (write(s->stop_fd, &one, sizeof one) < 0)
		return; /* cannot be full */
	pthread_join(s->thread, NULL);
	gaps_sort(&s->gaps);
	for (unsigned i = 0; i < s->config.port_count; i++)
		s->config.ports[i]->ops->refresh(s->config.ports[i]);
}

void service_free(struct service *s)
{
	close(s->stop_fd);
	interruptions_free(s->interruptions);
	free(s);
}
