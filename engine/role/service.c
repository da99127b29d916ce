/* Forwards and reflects; see service.h. */
#include "role/service.h"

#include "clock/clock.h"
#include "packet/frame.h"
#include "role/sleeper.h"
#include "role/thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { SLEEP_MAX_NS = 1000000000, GAP_FLOOR_NS = 1000, PEERS_EVERY_NS = 500000000 };

/* Rewrites a received frame to leave through `to`; foreign ones get length 0. */
static void rewrite(struct service *s, struct port *from, struct port *to, struct packet *p)
{
	struct frame_header *h = (struct frame_header *)p->data;
	if (from->accepts_partial)
		frame_complete_checksum(p->data, p->length);
	if (!s->ports[1]) {
		frame_swap(p->data);
		return;
	}
	memcpy(h->source, to->config.local_mac, 6);
	if (to->config.has_peer_mac)
		memcpy(h->destination, to->config.peer_mac, 6);
	if (address_given(&to->config.peer_ip))
		frame_set_destination(p->data, &to->config.peer_ip);
}

/* Sends a burst through a port, and drops what the port does not take at once. With `moves_from`,
 * the packets change ports, and those not taken are released to that one. */
static void send_burst(struct service *s, unsigned to_index, struct packet *burst, unsigned count,
		       struct port *moves_from)
{
	struct port *to = s->ports[to_index];
	unsigned sent = 0;
	while (sent < count) {
		int n = moves_from ? port_tx_move(to, burst + sent, count - sent)
				   : port_tx_forward(to, burst + sent, count - sent);
		if (n > 0) {
			sent += (unsigned)n;
		} else if (n == 0) {
			port_count(s->tx_full[to_index], count - sent);
			break;
		} else {
			port_count(s->tx_failed[to_index], 1);
			if (moves_from)
				moves_from->ops->rx_release(moves_from, burst + sent, 1);
			sent++;
		}
	}
	if (moves_from && sent < count)
		moves_from->ops->rx_release(moves_from, burst + sent, count - sent);
}

/* Forwards one burst from a port to the other; returns the number received. */
static unsigned forward_burst(struct service *s, unsigned from_index)
{
	struct packet burst[PORT_BURST], ours[PORT_BURST];
	struct port *from = s->ports[from_index];
	unsigned to_index = s->ports[1] ? 1 - from_index : 0;
	struct port *to = s->ports[to_index];
	bool moves = from->ops == to->ops && to->ops->tx_move;
	unsigned received = port_rx_burst(from, burst, PORT_BURST), count = 0;
	if (received == 0)
		return 0;
	for (unsigned i = 0; i < received; i++) {
		if (from->ops->layer == PORT_FRAME) {
			if (!frame_is_udp_to(burst[i].data, burst[i].length,
					     from->config.udp_port)) {
				port_count(s->foreign[from_index], 1);
				if (moves)
					from->ops->rx_release(from, &burst[i], 1);
				continue;
			}
			rewrite(s, from, to, &burst[i]);
		}
		ours[count] = burst[i];
		ours[count++].flow = 0;
	}
	send_burst(s, to_index, ours, count, moves ? from : NULL);
	if (!moves)
		from->ops->rx_release(from, burst, received);
	return received;
}

/* Reconnects to a peer that left and came back, if the port does not do that itself. Only the
 * thread that polls the port may stop it. */
static void look_for_peers(struct service *s)
{
	for (int i = 0; i < 2 && s->ports[i]; i++)
		if (s->ports[i]->ops->reconnect && !port_connected(s->ports[i]))
			s->ports[i]->ops->reconnect(s->ports[i]);
}

/* How long a service may sleep. A timeout would delay each packet that wakes it: see sleeper.h. Only
 * ports without anything to sleep on have to be looked at, and those whose peer may leave and come
 * back; and only polling takes a timeout. */
static uint64_t longest_sleep(const struct service *s, enum port_wait wait)
{
	struct pollfd fds[PORT_POLLFDS_MAX];
	for (int i = 0; i < 2 && s->ports[i]; i++)
		if (wait != PORT_BLOCK || s->ports[i]->ops->reconnect ||
		    !s->ports[i]->ops->pollfds(s->ports[i], fds, false))
			return SLEEP_MAX_NS;
	return THREAD_NO_TIMEOUT;
}

static void *service_loop(void *arg)
{
	struct service *s = arg;
	unsigned port_count_ = s->ports[1] ? 2 : 1;
	enum port_wait wait = thread_wait(s->ports, 2);
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
	sleeper_open(&sleeper, s->ports, 2, s->stop_fd, false);
	uint64_t now = clock_ticks(), active = now, looked = now;
	gaps_begin(&s->gaps, now);
	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		unsigned packets = 0;
		for (unsigned i = 0; i < port_count_; i++)
			packets += forward_burst(s, i);
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

static int check_layers(struct port *const ports[2], char *error, size_t size)
{
	if (!ports[1] || ports[0]->ops->layer == ports[1]->ops->layer)
		return 0;
	snprintf(error, size,
		 "cannot forward between udp and a backend of frames: open both as "
		 "udp, or both as raw, ring or xdp");
	return -EINVAL;
}

int service_start(struct service **out, struct port *const ports[2], int cpu, char *error,
		  size_t size)
{
	int err = check_layers(ports, error, size);
	if (err)
		return err;
	struct service *s = calloc(1, sizeof *s);
	if (!s) {
		snprintf(error, size, "out of memory");
		return -ENOMEM;
	}
	s->cpu = cpu;
	gaps_init(&s->gaps, clock_ns_to_ticks(&clock_global.scale, GAP_FLOOR_NS));
	s->start_ticks = clock_ticks();
	s->stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (s->stop_fd < 0) {
		err = -errno;
		snprintf(error, size, "cannot make an eventfd");
		goto fail;
	}
	for (int i = 0; i < 2 && ports[i]; i++) {
		s->ports[i] = ports[i];
		s->tx_full[i] = port_drop_counter(ports[i], "tx_full");
		s->tx_failed[i] = port_drop_counter(ports[i], "tx_failed");
		s->foreign[i] = port_drop_counter(ports[i], "rx_foreign");
		ports[i]->tx_dirty = true;
		unsigned directions = PORT_RX | PORT_TX | (ports[1] ? 0 : PORT_REFLECT);
		err = ports[i]->ops->start(ports[i], directions);
		if (err) {
			snprintf(error, size, "cannot start port %s", ports[i]->config.name);
			goto fail;
		}
	}
	err = thread_start(&s->thread, cpu, service_loop, s, error, size);
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
	for (int i = 0; i < 2 && s->ports[i]; i++)
		s->ports[i]->ops->refresh(s->ports[i]);
}

void service_free(struct service *s)
{
	close(s->stop_fd);
	interruptions_free(s->interruptions);
	free(s);
}
