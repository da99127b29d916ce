/* The commands of the switch; see switch_command.h. */
#include "control/switch_command.h"

#include "clock/clock.h"
#include "control/reply.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static json_t *refuse_port(const char *command, const char *name, const char *what, int err)
{
	char why[COMMAND_ERROR_BYTES];
	snprintf(why, sizeof why, "no port \"%s\" is %s", name, what);
	return reply_refusal(command, err, why);
}

json_t *switch_command_start(struct switch_ **s, const struct command *c)
{
	char error[COMMAND_ERROR_BYTES] = "cannot start the switch";
	int err = switch_start(s, &c->switch_, error, sizeof error);
	return err ? reply_refusal("switch", err, error) : reply_accepted("switch");
}

static uint64_t read_count(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static void set_count(json_t *o, const char *key, const uint64_t *counter)
{
	json_object_set_new(o, key, json_integer((json_int_t)read_count(counter)));
}

static json_t *counter(const char *name, uint64_t count)
{
	return json_pack("{s:s,s:I}", "name", name, "count", (json_int_t)count);
}

static json_t *port_drops(const struct switch_port *p)
{
	json_t *drops = json_array();
	for (unsigned i = 0; i < SWITCH_DROPS; i++)
		json_array_append_new(drops,
				      counter(switch_drop_names[i], read_count(&p->rx.drops[i])));
	return drops;
}

static json_t *device_drops(const struct port *p)
{
	json_t *drops = json_array();
	for (unsigned i = 0; i < p->drop_count; i++)
		json_array_append_new(drops,
				      counter(p->drops[i].name, read_count(&p->drops[i].count)));
	return drops;
}

static void set_vlans(json_t *o, const struct switch_port *p)
{
	json_t *trunk = json_array();
	for (unsigned v = 1; v <= VLAN_MAX; v++)
		if (p->config.trunk[v])
			json_array_append_new(trunk, json_integer(v));
	json_object_set_new(o, "vlan", json_integer(p->config.vlan));
	json_object_set_new(o, "trunk", trunk);
}

static json_t *mirror_stats(const struct mirror *m)
{
	struct mirror_counts c = mirror_counted(m);
	json_t *o = json_pack("{s:s,s:I,s:I,s:I}", "file", mirror_configured(m)->file, "id",
			      (json_int_t)mirror_id(m), "packets", (json_int_t)c.packets, "dropped",
			      (json_int_t)c.dropped);
	if (c.err)
		json_object_set_new(o, "error", json_string(strerror(-c.err)));
	return o;
}

static json_t *impair_stats(const struct impair *m)
{
	struct impair_counts c = impair_counted(m);
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "packets", (json_int_t)c.packets,
			 "lost", (json_int_t)c.lost, "corrupted", (json_int_t)c.corrupted,
			 "reordered", (json_int_t)c.reordered, "duplicated",
			 (json_int_t)c.duplicated, "refused", (json_int_t)c.refused, "given",
			 (json_int_t)c.given, "late", reply_histogram(impair_late(m)));
}

static json_t *port_stats(struct switch_port *p)
{
	char state[200];
	struct port *port = p->port;
	snprintf(state, sizeof state, "%s", port_connected(port) ? "up" : "waiting");
	if (port->ops->state)
		port->ops->state(port, state, sizeof state);
	port->ops->refresh(port);
	json_t *o = json_pack("{s:s,s:s,s:s}", "port", port->config.name, "backend",
			      port->ops->name, "state", state);
	set_vlans(o, p);
	set_count(o, "rx_packets", &p->rx.packets);
	set_count(o, "rx_bytes", &p->rx.bytes);
	set_count(o, "rx_bursts", &p->rx.bursts);
	set_count(o, "forwarded", &p->rx.forwarded);
	set_count(o, "flooded", &p->rx.flooded);
	set_count(o, "tx_packets", &p->tx.packets);
	set_count(o, "tx_bytes", &p->tx.bytes);
	set_count(o, "tx_bursts", &p->tx.bursts);
	set_count(o, "tx_lost", &p->tx.lost);
	set_count(o, "macs_refused", &p->rx.macs_full);
	json_object_set_new(o, "drops", port_drops(p));
	json_object_set_new(o, "device_drops", device_drops(port));
	const struct mirror *m = atomic_load(&p->mirror);
	if (m)
		json_object_set_new(o, "mirror", mirror_stats(m));
	if (p->impair)
		json_object_set_new(o, "impair", impair_stats(p->impair));
	if (atomic_load(&p->cut))
		json_object_set_new(o, "cut", json_true());
	/* Every backend has one queue per direction. */
	json_object_set_new(o, "queues",
			    json_pack("[{s:I,s:I}]", "rx_packets",
				      (json_int_t)read_count(&p->rx.packets), "tx_packets",
				      (json_int_t)read_count(&p->tx.packets)));
	return o;
}

static void set_stats(json_t *o, struct switch_ *s)
{
	const struct switch_view *view = atomic_load(&s->view);
	json_t *ports = json_array(), *threads = json_array();
	for (unsigned i = 0; i < view->count; i++)
		json_array_append_new(ports, port_stats(view->ports[view->order[i]]));
	for (unsigned i = 0; i < s->thread_count; i++) {
		const struct switch_thread *t = &s->threads[i];
		json_array_append_new(
			threads,
			json_pack("{s:i,s:i,s:o}", "cpu", t->cpu, "tid", t->tid, "gaps",
				  reply_gaps(&t->gaps, &clock_global.scale, t->start_ticks)));
	}
	json_object_set_new(o, "ports", ports);
	json_object_set_new(o, "threads", threads);
	json_object_set_new(o, "macs", json_integer(atomic_load(&s->table.count)));
}

json_t *switch_command_stop(struct switch_ **s)
{
	switch_stop(*s);
	json_t *o = reply_accepted("stop");
	set_stats(o, *s);
	switch_free(*s);
	*s = NULL;
	return o;
}

struct macs_visit {
	struct switch_ *s;
	json_t *list;
};

static void add_mac(void *arg, uint64_t key, uint64_t value)
{
	struct macs_visit *v = arg;
	const struct switch_view *view = atomic_load(&v->s->view);
	const struct switch_port *p = view->ports[mac_port(value)];
	uint32_t now = atomic_load(&v->s->now), heard = (uint32_t)(value >> 32);
	json_int_t age = value & MAC_STATIC ? -1 : (json_int_t)(now - heard) * MAC_TICK_NS;
	uint8_t mac[6];
	char text[18];
	mac_key_address(key, mac);
	snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		 mac[4], mac[5]);
	if (p)
		json_array_append_new(v->list, json_pack("{s:s,s:i,s:s,s:I}", "mac", text, "vlan",
							 (int)mac_key_vlan(key), "port",
							 p->port->config.name, "age_ns", age));
}

static json_t *do_macs(struct switch_ *s)
{
	json_t *o = reply_accepted("macs");
	struct macs_visit visit = {.s = s, .list = json_array()};
	mac_table_each(&s->table, add_mac, &visit);
	json_object_set_new(o, "macs", visit.list);
	return o;
}

static json_t *do_attach(struct switch_ *s, struct port *port, const struct command *c)
{
	char error[COMMAND_ERROR_BYTES] = "cannot attach";
	if (!port)
		return refuse_port("attach", c->port, "open; open it first", -ENOENT);
	int err = switch_attach(s, port, &c->attach, error, sizeof error);
	return err ? reply_refusal("attach", err, error) : reply_accepted("attach");
}

static json_t *do_detach(struct switch_ *s, struct port *port, const struct command *c)
{
	int err = port ? switch_detach(s, port) : -ENOENT;
	if (err == -ENOENT)
		return refuse_port("detach", c->port, "attached", err);
	return err ? reply_refusal("detach", err, "cannot detach") : reply_accepted("detach");
}

static json_t *end_mirror(struct switch_ *s, struct switch_port *p, const struct command *c)
{
	char why[COMMAND_ERROR_BYTES];
	struct mirror_counts ended;
	snprintf(why, sizeof why, "the mirror of %s was ended by another call", c->port);
	int err = switch_end_mirror(s, p, c->mirror.id, &ended);
	if (!err && ended.err) {
		snprintf(why, sizeof why, "%" PRIu64 " packets were mirrored and %" PRIu64 " lost",
			 ended.packets, ended.dropped);
		err = ended.err;
	}
	if (err)
		return reply_refusal("mirror", err, why);
	return json_pack("{s:s,s:b,s:I,s:I}", "reply", "mirror", "ok", 1, "packets",
			 (json_int_t)ended.packets, "dropped", (json_int_t)ended.dropped);
}

static json_t *do_mirror(struct switch_ *s, struct port *port, const struct command *c)
{
	char error[COMMAND_ERROR_BYTES] = "cannot mirror";
	uint64_t id;
	struct switch_port *p = port ? switch_find(s, port) : NULL;
	if (!p)
		return refuse_port("mirror", c->port, "attached", -ENOENT);
	if (!c->mirror.file[0])
		return end_mirror(s, p, c);
	int err = switch_mirror(p, &c->mirror, &id, error, sizeof error);
	if (err)
		return reply_refusal("mirror", err, error);
	return json_pack("{s:s,s:b,s:I}", "reply", "mirror", "ok", 1, "id", (json_int_t)id);
}

/* The answer has the time at which the polling threads were told. */
static json_t *do_cut(struct switch_ *s, struct port *port, const struct command *c)
{
	struct switch_port *p = port ? switch_find(s, port) : NULL;
	if (!p)
		return refuse_port("cut", c->port, "attached", -ENOENT);
	atomic_store(&p->cut, c->cut);
	return json_pack("{s:s,s:b,s:I}", "reply", "cut", "ok", 1, "at_ns",
			 (json_int_t)clock_monotonic_ns());
}

json_t *switch_command(struct switch_ *s, struct port *port, const struct command *c)
{
	if (!s)
		return reply_refusal(c->name, -ESRCH, "no switch is running; send switch first");
	switch (c->kind) {
	case COMMAND_ATTACH:
		return do_attach(s, port, c);
	case COMMAND_DETACH:
		return do_detach(s, port, c);
	case COMMAND_MACS:
		return do_macs(s);
	case COMMAND_SWITCH_STATS:
		break;
	case COMMAND_MIRROR:
		return do_mirror(s, port, c);
	case COMMAND_CUT:
		return do_cut(s, port, c);
	default:
		return reply_refusal(c->name, -ENOSYS, "not a command of the switch");
	}
	json_t *o = reply_accepted("switch_stats");
	set_stats(o, s);
	return o;
}
