/* What each command does; see engine.h. */
#include "control/engine.h"

#include "control/interruptions_reply.h"
#include "control/reply.h"
#include "control/switch_command.h"
#include "dpdk/eal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef NINES_VERSION
#define NINES_VERSION "devel"
#endif

static struct port *find_port(struct engine *e, const char *name, unsigned *at)
{
	for (unsigned i = 0; i < e->port_count; i++)
		if (strcmp(e->ports[i]->config.name, name) == 0) {
			if (at)
				*at = i;
			return e->ports[i];
		}
	return NULL;
}

static bool busy(const struct engine *e)
{
	return e->trial || e->service || e->switch_ || e->watch;
}

static json_t *no_port(const char *command, const char *name)
{
	char why[COMMAND_ERROR_BYTES];
	snprintf(why, sizeof why, "no port \"%s\" is open; open it first", name);
	return reply_refusal(command, -ENOENT, why);
}

static json_t *refuse_busy(const struct engine *e, const char *command)
{
	return reply_refusal(command, -EBUSY,
			     e->trial	  ? "a trial is running; wait for it or send abort"
			     : e->switch_ ? "the switch is running; send stop first"
			     : e->watch	  ? "a watch is running; send stop first"
					  : "a role is serving; send stop first");
}

static json_t *do_hello(const struct engine *e)
{
	json_t *o = reply_accepted("hello"), *names = json_array(), *notes = json_array();
	for (size_t i = 0; port_backends[i]; i++)
		json_array_append_new(names, json_string(port_backends[i]->name));
	for (unsigned i = 0; i < e->note_count; i++)
		json_array_append_new(notes, json_string(e->notes[i]));
	json_object_set_new(o, "protocol", json_integer(PROTOCOL_VERSION));
	json_object_set_new(o, "version", json_string(NINES_VERSION));
	json_object_set_new(o, "pid", json_integer(getpid()));
	json_object_set_new(o, "backends", names);
	json_object_set_new(o, "tsc", reply_tsc());
	json_object_set_new(o, "notes", notes);
	return o;
}

static json_t *do_dpdk(const struct engine *e, const struct command *c)
{
	char error[COMMAND_ERROR_BYTES] = "cannot start DPDK";
	struct eal_started started;
	if (busy(e))
		return refuse_busy(e, "dpdk");
	int err = eal_start(&c->dpdk, &started, error, sizeof error);
	if (err)
		return reply_refusal("dpdk", err, error);
	json_t *o = reply_accepted("dpdk"), *notes = json_array();
	for (unsigned i = 0; i < started.note_count; i++)
		json_array_append_new(notes, json_string(started.notes[i]));
	json_object_set_new(o, "version", json_string(started.version));
	json_object_set_new(o, "notes", notes);
	return o;
}

static json_t *do_open(struct engine *e, const struct command *c)
{
	char error[COMMAND_ERROR_BYTES] = "cannot open";
	struct port *port;
	if (busy(e) && !e->switch_)
		return refuse_busy(e, "open");
	if (find_port(e, c->config.name, NULL))
		return reply_refusal("open", -EEXIST, "a port of that name is open");
	if (e->port_count == ENGINE_PORTS_MAX)
		return reply_refusal("open", -EMFILE, "too many ports are open");
	int err = c->backend->open(&c->config, &port, error, sizeof error);
	if (err)
		return reply_refusal("open", err, error);
	e->ports[e->port_count++] = port;
	json_t *o = reply_accepted("open"), *notes = json_array();
	json_object_set_new(o, "port", json_string(port->config.name));
	json_object_set_new(o, "mode", json_string(port->mode));
	json_object_set_new(o, "wait", json_string(port->waits));
	for (unsigned i = 0; i < port->note_count; i++)
		json_array_append_new(notes, json_string(port->notes[i]));
	json_object_set_new(o, "notes", notes);
	return o;
}

static json_t *do_close(struct engine *e, const struct command *c)
{
	unsigned at;
	struct port *port = find_port(e, c->port, &at);
	if (!port)
		return no_port("close", c->port);
	if (e->switch_ && switch_find(e->switch_, port))
		return reply_refusal("close", -EBUSY, "the switch has it; detach it first");
	if (busy(e) && !e->switch_)
		return refuse_busy(e, "close");
	port->ops->refresh(port);
	json_t *o = reply_accepted("close"), *counters = reply_port(port);
	json_object_update(o, counters);
	json_decref(counters);
	port->ops->close(port);
	e->ports[at] = e->ports[--e->port_count];
	return o;
}

static json_t *do_serve(struct engine *e, const struct command *c)
{
	char error[COMMAND_ERROR_BYTES] = "cannot serve";
	struct service_config config = c->serve;
	if (busy(e))
		return refuse_busy(e, "serve");
	for (unsigned i = 0; i < config.port_count; i++) {
		config.ports[i] = find_port(e, c->serve_ports[i], NULL);
		if (!config.ports[i])
			return no_port("serve", c->serve_ports[i]);
	}
	int err = service_start(&e->service, &config, error, sizeof error);
	return err ? reply_refusal("serve", err, error) : reply_accepted("serve");
}

static json_t *with_counters(const char *name, struct engine *e)
{
	json_t *o = reply_accepted(name), *counters = NULL;
	if (e->service) {
		counters = reply_service(e->service);
	} else {
		json_t *ports = json_array();
		for (unsigned i = 0; i < e->port_count; i++)
			json_array_append_new(ports, reply_port(e->ports[i]));
		counters = json_pack("{s:o}", "ports", ports);
		if (e->trial) {
			json_object_set_new(counters, "gaps",
					    reply_gaps(&e->trial->gaps, &e->trial->scale,
						       e->trial->measured_ticks));
			json_object_set_new(counters, "tid", json_integer(e->trial->tid));
			json_object_set_new(counters, "cpu", json_integer(e->trial->config.cpu));
		}
	}
	json_object_update(o, counters);
	json_decref(counters);
	return o;
}

static json_t *do_stats(struct engine *e)
{
	for (unsigned i = 0; i < e->port_count; i++)
		e->ports[i]->ops->refresh(e->ports[i]);
	return with_counters("stats", e);
}

static json_t *do_watch(struct engine *e, const struct command *c)
{
	char error[COMMAND_ERROR_BYTES] = "cannot watch";
	if (busy(e))
		return refuse_busy(e, "watch");
	int err = watch_start(&e->watch, &c->watch, error, sizeof error);
	if (err)
		return reply_refusal("watch", err, error);
	json_t *o = reply_accepted("watch");
	if (c->watch.notices)
		json_object_set_new(o, "notices", reply_watch_notices(e->watch));
	return o;
}

static json_t *stop_watch(struct engine *e)
{
	watch_stop(e->watch);
	json_t *o = reply_accepted("stop");
	json_object_set_new(o, "watched", reply_watch(e->watch));
	watch_free(e->watch);
	e->watch = NULL;
	return o;
}

static json_t *do_stop(struct engine *e)
{
	if (e->watch)
		return stop_watch(e);
	if (e->switch_)
		return switch_command_stop(&e->switch_);
	if (!e->service)
		return reply_refusal("stop", -ESRCH, "nothing is serving");
	service_stop(e->service);
	json_t *o = with_counters("stop", e);
	service_free(e->service);
	e->service = NULL;
	return o;
}

static bool has_peer(const struct port *p)
{
	const struct port_config *c = &p->config;
	return address_given(&c->peer_ip) &&
	       (p->ops->layer == PORT_PAYLOAD || (c->has_peer_mac && address_given(&c->local_ip)));
}

static json_t *do_trial(struct engine *e, const struct command *c)
{
	char error[COMMAND_ERROR_BYTES] = "cannot begin the trial";
	struct stream_config streams[TRIAL_STREAMS_MAX];
	struct trial_config config = c->trial;
	if (busy(e))
		return refuse_busy(e, "trial");
	for (unsigned i = 0; i < c->stream_count; i++) {
		const struct command_stream *named = &c->streams[i];
		struct stream_config *s = &streams[i];
		*s = named->config;
		if (named->tx[0] && !(s->tx = find_port(e, named->tx, NULL)))
			return no_port("trial", named->tx);
		if (named->rx[0] && !(s->rx = find_port(e, named->rx, NULL)))
			return no_port("trial", named->rx);
		if (s->tx && s->tx->ops->needs_peer && !has_peer(s->tx))
			return reply_refusal("trial", -EDESTADDRREQ,
					     "the tx port has no destination; open it with "
					     "peer_ip (and, but for udp, peer_mac and local_ip)");
	}
	config.streams = streams;
	config.stream_count = c->stream_count;
	int err = trial_new(&config, &e->trial, error, sizeof error);
	if (err)
		return reply_refusal("trial", err, error);
	err = trial_start(e->trial, error, sizeof error);
	if (err) {
		trial_free(e->trial);
		e->trial = NULL;
		return reply_refusal("trial", err, error);
	}
	e->started_told = false;
	e->seconds_told = 0;
	e->offered_told = e->sent_told = e->received_told = 0;
	return NULL;
}

static json_t *do_clock(void)
{
	struct clock_wall wall;
	int err = clock_read_wall(&wall);
	return err ? reply_refusal("clock", err, "adjtimex does not tell how the clock is kept")
		   : reply_clock(&wall);
}

static json_t *do_interruptions(struct engine *e, const struct command *c)
{
	if (e->service)
		return interruptions_of_service(e->service, c->room);
	if (e->switch_)
		return interruptions_of_switch(e->switch_, c->room);
	if (e->trial && e->started_told && c->room == 0)
		return interruptions_of_trial(e->trial);
	return reply_refusal("interruptions", -ESRCH,
			     "nothing is serving; a trial lists its own from its begin");
}

/* What is asked of a running trial. */
static json_t *do_order(struct engine *e, const struct command *c)
{
	int err = 0;
	if (!e->trial)
		return reply_refusal(c->name, -ESRCH, "no trial is running");
	switch (c->kind) {
	case COMMAND_END:
		trial_expect(e->trial, c->tx_packets);
		break;
	case COMMAND_PAUSE:
		err = trial_ask(e->trial, TRIAL_PAUSE);
		break;
	case COMMAND_RESUME:
		err = trial_ask(e->trial, TRIAL_GO);
		break;
	case COMMAND_STOP:
		err = trial_ask(e->trial, TRIAL_FINISH);
		break;
	default:
		err = trial_ask(e->trial, TRIAL_ABORT);
	}
	if (err == -EMFILE)
		return reply_refusal(c->name, err, "the trial has paused too often");
	return err ? reply_refusal(c->name, err, "the trial is ending") : reply_accepted(c->name);
}

json_t *engine_command(struct engine *e, const struct command *c)
{
	switch (c->kind) {
	case COMMAND_HELLO:
		return do_hello(e);
	case COMMAND_OPEN:
		return do_open(e, c);
	case COMMAND_DPDK:
		return do_dpdk(e, c);
	case COMMAND_CLOSE:
		return do_close(e, c);
	case COMMAND_SERVE:
		return do_serve(e, c);
	case COMMAND_CLOCK:
		return do_clock();
	case COMMAND_INTERRUPTIONS:
		return do_interruptions(e, c);
	case COMMAND_STATS:
		return do_stats(e);
	case COMMAND_STOP:
		return e->trial ? do_order(e, c) : do_stop(e);
	case COMMAND_TRIAL:
		return do_trial(e, c);
	case COMMAND_WATCH:
		return do_watch(e, c);
	case COMMAND_SWITCH:
		return busy(e) ? refuse_busy(e, "switch") : switch_command_start(&e->switch_, c);
	case COMMAND_ATTACH:
	case COMMAND_DETACH:
	case COMMAND_SWITCH_STATS:
	case COMMAND_MACS:
	case COMMAND_MIRROR:
	case COMMAND_CUT:
		return switch_command(e->switch_, find_port(e, c->port, NULL), c);
	case COMMAND_END:
	case COMMAND_ABORT:
	case COMMAND_PAUSE:
	case COMMAND_RESUME:
		return do_order(e, c);
	}
	return reply_refusal(c->name, -EINVAL, "this command is not allowed here");
}

int engine_event_fd(const struct engine *e)
{
	return e->trial ? e->trial->done_fd : -1;
}

uint64_t engine_next_progress_ns(const struct engine *e)
{
	if (!e->trial)
		return 0;
	/* A pause has none, and its end is asked for. */
	if (atomic_load(&e->trial->asked) == TRIAL_PAUSE)
		return clock_monotonic_ns() + UINT64_C(1000000000);
	return e->trial->measured_start_ns + atomic_load(&e->trial->paused_ns) +
	       (e->seconds_told + 1) * UINT64_C(1000000000);
}

/* How many packets were offered in a trial's first `elapsed` ns, by its schedules (the mean of a
 * poisson one). At rate 0 that is what was sent. */
static uint64_t offered_until(const struct trial *t, uint64_t elapsed, uint64_t sent)
{
	uint64_t offered = 0;
	for (unsigned i = 0; i < t->stream_count && t->outlet_count > 0; i++) {
		const struct schedule_config *c = &t->streams[i].config.schedule;
		if (c->rate_upps == 0)
			return sent;
		offered += schedule_expected(c, elapsed);
	}
	return t->outlet_count > 0 ? offered : sent;
}

/* Counts since the last event, a second ago, so they are per second. */
static json_t *progress(struct engine *e)
{
	struct trial *t = e->trial;
	uint64_t sent = atomic_load(&t->shown_sent);
	uint64_t received = atomic_load(&t->shown_received);
	uint64_t elapsed = (e->seconds_told + 1) * UINT64_C(1000000000);
	if (elapsed > t->config.duration_ns)
		elapsed = t->config.duration_ns;
	uint64_t offered = offered_until(t, elapsed, sent);
	json_t *o = json_pack("{s:s,s:i,s:I,s:I,s:I}", "event", "progress", "second",
			      (int)++e->seconds_told, "offered",
			      (json_int_t)(offered - e->offered_told), "sent",
			      (json_int_t)(sent - e->sent_told), "received",
			      (json_int_t)(received - e->received_told));
	e->offered_told = offered;
	e->sent_told = sent;
	e->received_told = received;
	return o;
}

json_t *engine_event(struct engine *e)
{
	uint64_t times;
	struct trial *t = e->trial;
	if (!t)
		return NULL;
	if (!e->started_told) {
		if (!atomic_load(&t->begun))
			return NULL;
		e->started_told = true;
		return reply_started(t);
	}
	/* The eventfd counts 1 when the thread begins, and 1 more when it is done. */
	if (atomic_load(&t->ended)) {
		trial_join(t);
		json_t *o = reply_trial(t);
		trial_free(t);
		e->trial = NULL;
		return o;
	}
	if (read(t->done_fd, &times, sizeof times) < 0 && errno != EAGAIN)
		return NULL;
	if (clock_monotonic_ns() >= engine_next_progress_ns(e))
		return progress(e);
	return NULL;
}

bool engine_look_for_peers(struct engine *e)
{
	bool some = false;
	for (unsigned i = 0; i < e->port_count && !busy(e); i++) {
		struct port *port = e->ports[i];
		if (!port->ops->reconnect)
			continue;
		some = true;
		if (!port_connected(port))
			port->ops->reconnect(port);
	}
	return some;
}

void engine_interrupt(struct engine *e)
{
	if (e->trial)
		trial_ask(e->trial, TRIAL_ABORT);
}

void engine_close(struct engine *e)
{
	if (e->trial)
		trial_free(e->trial);
	e->trial = NULL;
	if (e->service) {
		service_stop(e->service);
		service_free(e->service);
		e->service = NULL;
	}
	if (e->watch) {
		watch_stop(e->watch);
		watch_free(e->watch);
		e->watch = NULL;
	}
	if (e->switch_) {
		switch_stop(e->switch_);
		switch_free(e->switch_);
		e->switch_ = NULL;
	}
	/* A fault port is closed before the memory port it wraps. */
	while (e->port_count > 0) {
		struct port *p = e->ports[--e->port_count];
		p->ops->close(p);
	}
}
