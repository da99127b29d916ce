/* Starts, stops, attaches; see switch.h. */
#include "switch/switch.h"

#include "clock/clock.h"
#include "role/thread.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { GAP_FLOOR_NS = 1000, KEEPER_TURN_MS = 50 };

const char *const switch_drop_names[SWITCH_DROPS] = {
	[SWITCH_VLAN_DENIED] = "vlan_denied",
	[SWITCH_LINK_LOCAL] = "link_local",
	[SWITCH_BAD_SOURCE] = "bad_source",
	[SWITCH_SAME_PORT] = "same_port",
	[SWITCH_FLOOD_LIMIT] = "flood_limit",
	[SWITCH_BROADCAST_LIMIT] = "broadcast_limit",
	[SWITCH_NO_MEMBER] = "no_member",
	[SWITCH_TX_FULL] = "tx_full",
	[SWITCH_TX_TOO_LONG] = "tx_too_long",
	[SWITCH_NO_PEER] = "no_peer",
	[SWITCH_IMPAIRED] = "impaired",
	[SWITCH_IMPAIR_LIMIT] = "impair_limit",
	[SWITCH_CUT] = "cut",
};

/* Returns when no polling thread uses an older view. */
static void wait_for_threads(struct switch_ *s)
{
	const struct timespec pause = {.tv_nsec = 20000};
	for (unsigned i = 0; i < s->thread_count; i++) {
		/* The current turn may still use the old view; the next turn does not. */
		uint64_t turns = atomic_load(&s->threads[i].turns);
		while (!atomic_load(&s->stop) && atomic_load(&s->threads[i].turns) < turns + 2)
			nanosleep(&pause, NULL);
	}
}

static void publish(struct switch_ *s, struct switch_view *view)
{
	struct switch_view *old = atomic_exchange(&s->view, view);
	wait_for_threads(s);
	free(old);
}

static void *keep(void *arg)
{
	struct switch_ *s = arg;
	struct pollfd fd = {.fd = s->keeper_stop_fd, .events = POLLIN};
	uint64_t begin = clock_monotonic_ns();
	uint32_t expired = 0, age = (uint32_t)(s->config.ageing_ns / MAC_TICK_NS);
	pthread_setname_np(pthread_self(), "nines-keeper");
	while (poll(&fd, 1, KEEPER_TURN_MS) == 0) {
		/* Starts at 1: addresses never heard are older than all others. */
		uint32_t now = (uint32_t)((clock_monotonic_ns() - begin) / MAC_TICK_NS) + 1;
		atomic_store(&s->now, now);
		if (s->config.ageing_ns && now != expired)
			mac_table_expire(&s->table, now, age ? age : 1);
		expired = now;
	}
	return NULL;
}

static int start_threads(struct switch_ *s, char *error, size_t size)
{
	unsigned wanted = s->config.cpu_count ? s->config.cpu_count : 1;
	for (unsigned i = 0; i < wanted; i++) {
		struct switch_thread *t = &s->threads[i];
		t->owner = s;
		t->number = i;
		t->cpu = s->config.cpu_count ? s->config.cpus[i] : -1;
		t->start_ticks = clock_ticks();
		t->rewritten = malloc((size_t)PORT_BURST * (SWITCH_FRAME_MAX + VLAN_TAG_BYTES));
		gaps_init(&t->gaps, clock_ns_to_ticks(&clock_global.scale, GAP_FLOOR_NS));
		int err = t->rewritten
				  ? thread_start(&t->thread, t->cpu, switch_poll, t, error, size)
				  : -ENOMEM;
		if (err) {
			free(t->rewritten);
			return err;
		}
		s->thread_count++;
	}
	return 0;
}

int switch_start(struct switch_ **out, const struct switch_config *config, char *error, size_t size)
{
	uint64_t seed = 0;
	int err = -ENOMEM;
	struct switch_ *s = aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
	snprintf(error, size, "cannot allocate the switch");
	if (!s)
		return err;
	memset(s, 0, sizeof *s);
	s->config = *config;
	s->now = 1;
	s->keeper_stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct switch_view *view = calloc(1, sizeof *view);
	atomic_store(&s->view, view);
	if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
		seed = clock_ticks();
	if (s->keeper_stop_fd < 0 || !view || mac_table_init(&s->table, config->macs, seed) < 0)
		goto fail;
	err = thread_start(&s->keeper, -1, keep, s, error, size);
	if (err)
		goto fail_table;
	err = start_threads(s, error, size);
	if (err) {
		switch_stop(s);
		switch_free(s);
		return err;
	}
	*out = s;
	return 0;
fail_table:
	mac_table_free(&s->table);
fail:
	free(view);
	if (s->keeper_stop_fd >= 0)
		close(s->keeper_stop_fd);
	free(s);
	return err;
}

void switch_stop(struct switch_ *s)
{
	const uint64_t one = 1;
	atomic_store(&s->stop, true);
	if (write(s->keeper_stop_fd, &one, sizeof one) < 0)
		return; /* cannot be full */
	pthread_join(s->keeper, NULL);
	for (unsigned i = 0; i < s->thread_count; i++) {
		pthread_join(s->threads[i].thread, NULL);
		gaps_sort(&s->threads[i].gaps);
	}
}

/* Call when no thread uses the port. */
static void free_port(struct switch_port *p)
{
	struct mirror *m = atomic_load(&p->mirror);
	struct mirror_counts ignored;
	if (m)
		mirror_stop(m, &ignored);
	impair_free(p->impair);
	pthread_spin_destroy(&p->tx.lock);
	free(p);
}

void switch_free(struct switch_ *s)
{
	struct switch_view *view = atomic_load(&s->view);
	for (unsigned i = 0; i < view->count; i++)
		free_port(view->ports[view->order[i]]);
	for (unsigned i = 0; i < s->thread_count; i++) {
		free(s->threads[i].rewritten);
		interruptions_free(s->threads[i].interruptions);
	}
	free(view);
	mac_table_free(&s->table);
	close(s->keeper_stop_fd);
	free(s);
}

struct switch_port *switch_find(struct switch_ *s, const struct port *port)
{
	struct switch_view *view = atomic_load(&s->view);
	for (unsigned i = 0; i < view->count; i++)
		if (view->ports[view->order[i]]->port == port)
			return view->ports[view->order[i]];
	return NULL;
}

/* The thread with the fewest ports. */
static unsigned idlest(const struct switch_ *s, const struct switch_view *view)
{
	unsigned load[SWITCH_THREADS_MAX] = {0}, best = 0;
	for (unsigned i = 0; i < view->count; i++)
		load[view->ports[view->order[i]]->thread]++;
	for (unsigned i = 1; i < s->thread_count; i++)
		if (load[i] < load[best])
			best = i;
	return best;
}

static struct switch_port *new_port(struct port *port, const struct switch_port_config *config)
{
	struct switch_port *p = aligned_alloc(64, (sizeof *p + 63) / 64 * 64);
	if (!p)
		return NULL;
	memset(p, 0, sizeof *p);
	p->port = port;
	p->config = *config;
	vlan_port_init(&p->vlan, config->vlan);
	for (unsigned v = 1; v <= VLAN_MAX; v++)
		if (config->trunk[v])
			vlan_port_add(&p->vlan, (uint16_t)v);
	limit_init(&p->rx.flood, (double)config->flood_upps / 1e6, clock_global.scale.hz);
	limit_init(&p->rx.broadcast, (double)config->broadcast_upps / 1e6, clock_global.scale.hz);
	pthread_spin_init(&p->tx.lock, PTHREAD_PROCESS_PRIVATE);
	if (config->impair.given) {
		p->impair = impair_new(&config->impair, port->config.frame_bytes);
		if (!p->impair) {
			free_port(p);
			return NULL;
		}
	}
	return p;
}

/* Calls `visit` for each static entry of a port until one is refused: an address without a tag
 * is in the port's access VLAN, or in all of its trunk. */
static int each_static(struct switch_ *s, const struct switch_port *p,
		       int (*visit)(struct switch_ *s, const struct switch_port *p, uint64_t key,
				    char *error, size_t size),
		       char *error, size_t size)
{
	int err = 0;
	for (unsigned i = 0; i < p->config.mac_count; i++) {
		if (p->config.vlan || !p->vlan.aware)
			err = visit(s, p, mac_key_of(p->config.macs[i], p->config.vlan), error,
				    size);
		for (unsigned v = 1; v <= VLAN_MAX && !err; v++)
			if (p->config.trunk[v])
				err = visit(s, p, mac_key_of(p->config.macs[i], (uint16_t)v), error,
					    size);
		if (err)
			return err;
	}
	return 0;
}

static int check_static(struct switch_ *s, const struct switch_port *p, uint64_t key, char *error,
			size_t size)
{
	uint64_t value = mac_find(&s->table, key, mac_hash(&s->table, key));
	uint8_t mac[6];
	(void)p;
	if (!(value & MAC_STATIC))
		return 0;
	mac_key_address(key, mac);
	snprintf(error, size,
		 "%02x:%02x:%02x:%02x:%02x:%02x is a static address of the port %s; give it to one "
		 "port",
		 mac[0], mac[1], mac[2], mac[3], mac[4], mac[5],
		 atomic_load(&s->view)->ports[mac_port(value)]->port->config.name);
	return -EEXIST;
}

static int add_static(struct switch_ *s, const struct switch_port *p, uint64_t key, char *error,
		      size_t size)
{
	if (mac_table_add_static(&s->table, key, p->index))
		return 0;
	snprintf(error, size, "the table of addresses is full");
	return -ENOSPC;
}

int switch_attach(struct switch_ *s, struct port *port, const struct switch_port_config *config,
		  char *error, size_t size)
{
	struct switch_view *view = atomic_load(&s->view);
	unsigned index = 0;
	snprintf(error, size, "the port is already attached");
	if (switch_find(s, port))
		return -EEXIST;
	snprintf(error, size, "a switch has at most %d ports", SWITCH_PORTS_MAX);
	if (view->count == SWITCH_PORTS_MAX)
		return -ENOSPC;
	snprintf(error, size,
		 "a switch needs frames, but this backend has payloads; open the "
		 "interface as raw, ring or xdp");
	if (port->ops->layer != PORT_FRAME)
		return -EINVAL;
	while (view->ports[index])
		index++;
	snprintf(error, size, "out of memory");
	int err = -ENOMEM;
	struct switch_port *p = new_port(port, config);
	struct switch_view *next = malloc(sizeof *next);
	if (!p || !next)
		goto fail;
	p->index = index;
	p->thread = idlest(s, view);
	err = each_static(s, p, check_static, error, size);
	if (err)
		goto fail;
	port->tx_shared = s->thread_count > 1;
	port->tx_dirty = true;
	snprintf(error, size, "cannot start the port");
	err = port->ops->start(port, PORT_RX | PORT_TX);
	if (err)
		goto fail;
	err = each_static(s, p, add_static, error, size);
	if (err) {
		mac_table_flush(&s->table, index);
		goto fail;
	}
	*next = *view;
	next->ports[index] = p;
	next->order[next->count++] = index;
	publish(s, next);
	return 0;
fail:
	if (p)
		free_port(p);
	free(next);
	return err;
}

int switch_detach(struct switch_ *s, const struct port *port)
{
	struct switch_port *p = switch_find(s, port);
	struct switch_view *view = atomic_load(&s->view);
	struct switch_view *next = malloc(sizeof *next);
	if (!p || !next) {
		free(next);
		return p ? -ENOMEM : -ENOENT;
	}
	*next = *view;
	next->ports[p->index] = NULL;
	next->count = 0;
	for (unsigned i = 0; i < SWITCH_PORTS_MAX; i++)
		if (next->ports[i])
			next->order[next->count++] = i;
	publish(s, next);
	/* Not earlier: a thread might still have learnt from packets that it had received. */
	mac_table_flush(&s->table, p->index);
	free_port(p);
	return 0;
}

int switch_list(struct switch_ *s, uint32_t room)
{
	struct interruptions *lists[SWITCH_THREADS_MAX] = {0};
	unsigned i;
	for (i = 0; i < s->thread_count; i++)
		if (interruptions_new(&lists[i], room))
			goto fail;
	for (i = 0; i < s->thread_count; i++) {
		struct switch_thread *t = &s->threads[i];
		struct interruptions *old = t->interruptions;
		interruptions_begin(lists[i], &t->gaps);
		t->interruptions = lists[i];
		lists[i] = old;
	}
	wait_for_threads(s);
	for (i = 0; i < s->thread_count; i++)
		interruptions_free(lists[i]);
	return 0;
fail:
	while (i > 0)
		interruptions_free(lists[--i]);
	return -ENOMEM;
}

int switch_mirror(struct switch_port *p, const struct mirror_config *config, uint64_t *id,
		  char *error, size_t size)
{
	const struct mirror *old = atomic_load(&p->mirror);
	struct mirror *next;
	if (old) {
		snprintf(error, size, "%s is already mirrored into %.400s; end that mirror first",
			 p->port->config.name, mirror_configured(old)->file);
		return -EBUSY;
	}
	int err = mirror_start(&next, config, error, size);
	if (err)
		return err;
	*id = mirror_id(next);
	atomic_store(&p->mirror, next);
	return 0;
}

int switch_end_mirror(struct switch_ *s, struct switch_port *p, uint64_t id,
		      struct mirror_counts *ended)
{
	struct mirror *m = atomic_load(&p->mirror);
	*ended = (struct mirror_counts){0};
	if (id && (!m || mirror_id(m) != id))
		return -ECANCELED;
	if (!m)
		return 0;
	atomic_store(&p->mirror, NULL);
	wait_for_threads(s);
	mirror_stop(m, ended);
	return 0;
}
