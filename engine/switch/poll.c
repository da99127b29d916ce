/*
 * The polling thread; see switch.h for the path of a packet.
 *
 * The thread works through a burst in passes, so that memory is prefetched well before it is
 * needed: the backend prefetches headers, the first pass reads them and prefetches the table's
 * buckets, the second pass decides.
 */
#include "switch/switch.h"

#include "clock/clock.h"
#include "packet/frame.h"
#include "role/thread.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { NOWHERE = SWITCH_PORTS_MAX };

/* The decision about a packet of the burst. */
struct decision {
	uint64_t source, destination; /* keys */
	uint64_t source_hash, destination_hash;
	struct vlan_tag tag;
	uint16_t vlan;
	bool group; /* the destination is a group address */
	bool flooded;
};

/* The packets of a burst, grouped by output port. */
struct groups {
	uint64_t used; /* a bit for each port */
	uint8_t counts[SWITCH_PORTS_MAX];
	uint8_t members[SWITCH_PORTS_MAX][PORT_BURST];
};

struct switch_turn {
	struct switch_thread *thread;
	const struct switch_view *view;
	uint32_t now;
	struct packet burst[PORT_BURST];
	struct decision decisions[PORT_BURST];
	struct groups groups;
};

static inline void group_add(struct groups *g, unsigned port, unsigned packet)
{
	uint64_t bit = UINT64_C(1) << port;
	if (!(g->used & bit)) {
		g->used |= bit;
		g->counts[port] = 0;
	}
	g->members[port][g->counts[port]++] = (uint8_t)packet;
}

static inline void drop(struct switch_port *from, enum switch_drop why, uint64_t count)
{
	port_count(&from->rx.drops[why], count);
}

static inline bool is_cut(const struct switch_port *p)
{
	return atomic_load_explicit(&p->cut, memory_order_relaxed);
}

/* Completes the UDP checksums that a local sender's kernel left to a device: nothing else would.
 * Only in our own buffers. */
static void complete_checksums(struct packet *burst, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		frame_complete_checksum(burst[i].data, burst[i].length);
}

/* First pass: reads the header, once, and prefetches the table's lines. */
static inline void read_header(struct switch_turn *t, const struct switch_port *from, unsigned i)
{
	const struct switch_ *s = t->thread->owner;
	const struct packet *p = &t->burst[i];
	struct decision *d = &t->decisions[i];
	uint64_t low, high; /* bytes 0 to 7 and 6 to 13 */
	memcpy(&low, p->data, 8);
	memcpy(&high, p->data + 6, 8);
	d->vlan = VLAN_NONE;
	d->tag = (struct vlan_tag){0};
	if (__builtin_expect(from->vlan.aware, 0)) {
		d->tag = vlan_read(p->data, p->length);
		d->vlan = vlan_enter(&from->vlan, d->tag);
	}
	uint16_t vlan = d->vlan & 0xfff;
	d->destination = mac_key(low, vlan);
	d->source = mac_key(high, vlan);
	d->group = low & 1;
	d->flooded = false;
	d->source_hash = mac_hash(&s->table, d->source);
	d->destination_hash = mac_hash(&s->table, d->destination);
	__builtin_prefetch(mac_first(&s->table, d->destination_hash));
	__builtin_prefetch(mac_first(&s->table, d->source_hash));
}

/* Bit 0 of an address's first byte: a group. It is bit 12 of a key. */
static inline bool is_group(uint64_t key)
{
	return key >> 12 & 1;
}

static inline void learn(struct switch_turn *t, struct switch_port *from, const struct decision *d)
{
	struct mac_table *table = &t->thread->owner->table;
	uint64_t value = mac_find(table, d->source, d->source_hash);
	if (__builtin_expect(value == mac_value(from->index, t->now) || value & MAC_STATIC, 1))
		return;
	if (!mac_table_learn(table, d->source, from->index, t->now))
		port_count(&from->rx.macs_full, 1);
}

/* 01:80:c2:00:00:00 to 0f, as the low bytes of a key's address. */
static inline bool is_link_local(uint64_t key)
{
	return (key >> 12 & UINT64_C(0xf0ffffffffff)) == UINT64_C(0x000000c28001);
}

/* Sends a copy to every port of the VLAN except the one that it came from. */
static void flood(struct switch_turn *t, struct switch_port *from, unsigned i)
{
	struct decision *d = &t->decisions[i];
	const struct switch_view *view = t->view;
	uint64_t now = from->rx.flood.per_tick != 0 || from->rx.broadcast.per_tick != 0
			       ? clock_ticks_loose()
			       : 0;
	if (d->group && !limit_take(&from->rx.broadcast, now)) {
		drop(from, SWITCH_BROADCAST_LIMIT, 1);
		return;
	}
	if (!d->group && !limit_take(&from->rx.flood, now)) {
		drop(from, SWITCH_FLOOD_LIMIT, 1);
		return;
	}
	for (unsigned n = 0; n < view->count; n++) {
		struct switch_port *to = view->ports[view->order[n]];
		if (to == from || vlan_leave(&to->vlan, d->vlan) == VLAN_EXIT_DENIED ||
		    !port_connected(to->port) || is_cut(to))
			continue;
		group_add(&t->groups, to->index, i);
		d->flooded = true;
	}
	if (d->flooded)
		port_count(&from->rx.flooded, 1);
	else
		drop(from, SWITCH_NO_MEMBER, 1);
}

/* Second pass: learns, and decides where the packet goes. */
static inline void decide(struct switch_turn *t, struct switch_port *from, unsigned i)
{
	struct decision *d = &t->decisions[i];
	const struct mac_table *table = &t->thread->owner->table;
	if (__builtin_expect(d->vlan == VLAN_DENIED, 0)) {
		drop(from, SWITCH_VLAN_DENIED, 1);
		return;
	}
	/* A frame this long leaves no room to change its tag. */
	if (__builtin_expect(from->vlan.aware && t->burst[i].length > SWITCH_FRAME_MAX, 0)) {
		drop(from, SWITCH_TX_TOO_LONG, 1);
		return;
	}
	if (__builtin_expect(is_group(d->source) || d->source >> 12 == 0, 0)) {
		drop(from, SWITCH_BAD_SOURCE, 1);
		return;
	}
	learn(t, from, d);
	if (__builtin_expect(d->group, 0)) {
		if (is_link_local(d->destination))
			drop(from, SWITCH_LINK_LOCAL, 1);
		else
			flood(t, from, i);
		return;
	}
	/* No node has the address zero, but without a VLAN its key equals that of a free place. */
	uint64_t value = d->destination ? mac_find(table, d->destination, d->destination_hash) : 0;
	struct switch_port *to = value ? t->view->ports[mac_port(value)] : NULL;
	if (__builtin_expect(!to, 0))
		flood(t, from, i); /* unknown, or its port is being detached */
	else if (to == from)
		drop(from, SWITCH_SAME_PORT, 1);
	else if (__builtin_expect(vlan_leave(&to->vlan, d->vlan) == VLAN_EXIT_DENIED, 0))
		drop(from, SWITCH_VLAN_DENIED, 1);
	else
		group_add(&t->groups, to->index, i);
}

/* Frames whose tag changes on output are changed in our own copy. */
static void rewrite_tags(struct switch_turn *t, const struct switch_port *to, struct packet *out,
			 const uint8_t *members, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const struct decision *d = &t->decisions[members[i]];
		enum vlan_exit how = vlan_leave(&to->vlan, d->vlan);
		if (!vlan_must_rewrite(how, d->tag))
			continue;
		uint8_t *copy =
			t->thread->rewritten + (size_t)i * (SWITCH_FRAME_MAX + VLAN_TAG_BYTES);
		out[i].length =
			vlan_rewrite(copy, out[i].data, out[i].length, how, d->tag, d->vlan);
		out[i].data = copy;
	}
}

static inline void mirror(struct switch_port *p, unsigned direction, const struct packet *burst,
			  unsigned count)
{
	struct mirror *m = atomic_load_explicit(&p->mirror, memory_order_acquire);
	if (__builtin_expect(m != NULL, 0))
		mirror_put(m, direction, burst, count);
}

/* Counts what happened to a packet for one port only. */
static inline void account(struct switch_turn *t, struct switch_port *from, unsigned member,
			   bool sent, enum switch_drop why)
{
	if (t->decisions[member].flooded)
		return; /* counted already; a lost copy is the other port's loss */
	if (sent)
		port_count(&from->rx.forwarded, 1);
	else
		drop(from, why, 1);
}

static void send_group(struct switch_turn *t, struct switch_port *from, struct switch_port *to)
{
	const uint8_t *members = t->groups.members[to->index];
	unsigned count = t->groups.counts[to->index], at = 0;
	bool shared = to->port->tx_shared;
	struct packet out[PORT_BURST];
	uint64_t packets = 0, bytes = 0;
	if (__builtin_expect(is_cut(to), 0)) {
		for (unsigned i = 0; i < count; i++)
			account(t, from, members[i], false, SWITCH_CUT);
		return;
	}
	for (unsigned i = 0; i < count; i++)
		out[i] = t->burst[members[i]];
	if (__builtin_expect(to->vlan.aware, 0))
		rewrite_tags(t, to, out, members, count);
	if (shared)
		pthread_spin_lock(&to->tx.lock);
	while (at < count) {
		int n = port_tx_forward(to->port, out + at, count - at);
		for (int i = 0; i < n; i++) {
			bytes += out[at + (unsigned)i].length;
			account(t, from, members[at + (unsigned)i], true, SWITCH_TX_FULL);
		}
		if (n > 0) {
			mirror(to, MIRROR_TX, out + at, (unsigned)n);
			packets += (unsigned)n;
			at += (unsigned)n;
			continue;
		}
		if (n == 0)
			break;
		account(t, from, members[at++], false,
			n == -EMSGSIZE ? SWITCH_TX_TOO_LONG : SWITCH_TX_FULL);
	}
	if (at < count) {
		enum switch_drop why = port_connected(to->port) ? SWITCH_TX_FULL : SWITCH_NO_PEER;
		for (unsigned i = at; i < count; i++)
			account(t, from, members[i], false, why);
	}
	port_count(&to->tx.packets, packets);
	port_count(&to->tx.bytes, bytes);
	port_count(&to->tx.bursts, packets > 0);
	port_count(&to->tx.lost, count - packets);
	if (shared)
		pthread_spin_unlock(&to->tx.lock);
}

/* Switches the turn's burst, which came from a port. */
static void switch_packets(struct switch_turn *t, struct switch_port *from, unsigned count)
{
	t->groups.used = 0;
	for (unsigned i = 0; i < count; i++)
		read_header(t, from, i);
	for (unsigned i = 0; i < count; i++)
		decide(t, from, i);
	for (uint64_t left = t->groups.used; left; left &= left - 1)
		send_group(t, from, t->view->ports[__builtin_ctzll(left)]);
}

/* Receives a burst and counts it. */
static unsigned receive(struct switch_turn *t, struct switch_port *from)
{
	unsigned count = port_rx_burst(from->port, t->burst, PORT_BURST);
	uint64_t bytes = 0;
	if (count == 0)
		return 0;
	if (from->port->accepts_partial)
		complete_checksums(t->burst, count);
	for (unsigned i = 0; i < count; i++)
		bytes += t->burst[i].length;
	mirror(from, MIRROR_RX, t->burst, count);
	port_count(&from->rx.packets, count);
	port_count(&from->rx.bytes, bytes);
	port_count(&from->rx.bursts, 1);
	return count;
}

/* Holds the turn's burst, and switches the packets that are due. */
static unsigned switch_impaired(struct switch_turn *t, struct switch_port *from, unsigned count)
{
	struct impair *m = from->impair;
	uint64_t now = clock_ticks_loose();
	for (unsigned i = 0; i < count; i++) {
		enum impair_put put = impair_put(m, &t->burst[i], now);
		if (put != IMPAIR_HELD)
			drop(from, put == IMPAIR_LOST ? SWITCH_IMPAIRED : SWITCH_IMPAIR_LIMIT, 1);
	}
	if (count > 0)
		from->port->ops->rx_release(from->port, t->burst, count);
	unsigned due = impair_take(m, clock_ticks_loose(), t->burst, PORT_BURST);
	if (due == 0)
		return count;
	switch_packets(t, from, due);
	impair_free_taken(m, t->burst, due);
	return count + due;
}

/* Switches one burst from a port; returns the number of packets. */
static unsigned switch_burst(struct switch_turn *t, struct switch_port *from)
{
	unsigned count = receive(t, from);
	if (__builtin_expect(is_cut(from), 0) && count > 0) {
		drop(from, SWITCH_CUT, count);
		from->port->ops->rx_release(from->port, t->burst, count);
		count = 0;
	}
	if (__builtin_expect(from->impair != NULL, 0))
		return switch_impaired(t, from, count);
	if (count == 0)
		return 0;
	switch_packets(t, from, count);
	from->port->ops->rx_release(from->port, t->burst, count);
	return count;
}

struct switch_turn *switch_turn_new(struct switch_thread *thread)
{
	struct switch_turn *t = calloc(1, sizeof *t);
	if (t)
		t->thread = thread;
	return t;
}

unsigned switch_turn_run(struct switch_turn *t)
{
	const struct switch_ *s = t->thread->owner;
	unsigned packets = 0;
	t->view = atomic_load_explicit(&s->view, memory_order_acquire);
	t->now = atomic_load_explicit(&s->now, memory_order_relaxed);
	for (unsigned i = 0; i < t->view->count; i++) {
		struct switch_port *p = t->view->ports[t->view->order[i]];
		if (p->thread == t->thread->number)
			packets += switch_burst(t, p);
	}
	return packets;
}

/* How long a thread sleeps between turns while nothing can come: at first, and in the end. A switch
 * without guests that looked each 250 us took 8 % of a CPU. A guest's first packets wait in its ring. */
enum { IDLE_NS = 250000, IDLE_MAX_NS = 2000000 };

/* True if nothing can come: no port of the thread has another end that is connected. A port that cannot
 * tell counts as connected. */
static bool nothing_comes(const struct switch_turn *t)
{
	for (unsigned i = 0; i < t->view->count; i++) {
		const struct switch_port *p = t->view->ports[t->view->order[i]];
		bool (*connected)(struct port *) = p->port->ops->connected;
		if (p->thread == t->thread->number &&
		    (p->impair || !connected || connected(p->port)))
			return false;
	}
	return true;
}

/* Sleeps while nothing can come, each time for longer; CPUs may then sleep deeply, too. */
static void rest(int *awake, long *pause_ns)
{
	if (*awake >= 0)
		close(*awake);
	*awake = -1;
	nanosleep(&(struct timespec){.tv_nsec = *pause_ns}, NULL);
	if (*pause_ns < IDLE_MAX_NS)
		*pause_ns *= 2;
}

void *switch_poll(void *arg)
{
	struct switch_thread *thread = arg;
	struct switch_ *s = thread->owner;
	struct switch_turn turn = {.thread = thread};
	thread->tid = thread_begin("nines-switch");
	int awake = thread_hold_awake();
	uint32_t looked = 0;
	long pause_ns = IDLE_NS;
	bool idle = false;
	gaps_begin(&thread->gaps, clock_ticks());
	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		unsigned packets = switch_turn_run(&turn);
		gaps_turn(&thread->gaps, clock_ticks_loose(), packets, 0);
		/* It looks for others rarely while it polls, and each time while it sleeps. */
		if (__builtin_expect(idle || turn.now != looked, 0)) {
			looked = turn.now;
			idle = packets == 0 && nothing_comes(&turn);
		}
		/* This turn's view is no longer used. */
		atomic_store_explicit(&thread->turns,
				      atomic_load_explicit(&thread->turns, memory_order_relaxed) +
					      1,
				      memory_order_release);
		if (__builtin_expect(idle, 0)) {
			rest(&awake, &pause_ns);
			gaps_begin(&thread->gaps, clock_ticks_loose());
		} else if (__builtin_expect(pause_ns > IDLE_NS, 0)) {
			awake = thread_hold_awake();
			pause_ns = IDLE_NS;
		}
	}
	if (awake >= 0)
		close(awake);
	return NULL;
}
