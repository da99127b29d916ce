/* Results as JSON; see reply.h. */
#include "control/reply.h"

#include "control/bulk.h"
#include "control/command.h"
#include "control/interruptions_reply.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

/* Ticks since a moment, in ns; earlier ticks give a negative number. */
static json_t *since(const struct clock_scale *s, uint64_t from, uint64_t ticks)
{
	if (ticks >= from)
		return number(clock_ticks_to_ns(s, ticks - from));
	return json_integer(-(json_int_t)clock_ticks_to_ns(s, from - ticks));
}

/* A histogram without its counts, which are in the bulk data. */
static json_t *head(const struct histogram *h)
{
	return json_pack("{s:I,s:I,s:I,s:I}", "count", (json_int_t)h->count, "min",
			 (json_int_t)(h->count ? h->min : 0), "max", (json_int_t)h->max, "sum",
			 (json_int_t)h->sum);
}

json_t *reply_histogram(const struct histogram *h)
{
	json_t *counts = json_array();
	for (uint32_t i = 0; i < HISTOGRAM_COUNTS; i++)
		if (h->counts[i])
			json_array_append_new(counts, json_pack("[I,I]", (json_int_t)i,
								(json_int_t)h->counts[i]));
	json_t *o = head(h);
	json_object_set_new(o, "counts", counts);
	return o;
}

json_t *reply_gaps(const struct gaps *g, const struct clock_scale *scale, uint64_t from_ticks)
{
	json_t *worst = json_array();
	for (uint32_t i = 0; i < g->kept; i++)
		json_array_append_new(
			worst,
			json_pack("[o,o]", since(scale, from_ticks, g->worst[i].at_ticks),
				  number(clock_ticks_to_ns(scale, g->worst[i].length_ticks))));
	json_t *wakes = json_pack("{s:I,s:o,s:o}", "count", (json_int_t)g->wakes.count, "total_ns",
				  number(clock_ticks_to_ns(scale, g->wakes.total_ticks)), "max_ns",
				  number(clock_ticks_to_ns(scale, g->wakes.max_ticks)));
	return json_pack(
		"{s:o,s:I,s:o,s:o,s:o,s:o}", "threshold_ns",
		number(clock_ticks_to_ns(scale, gaps_threshold(g))), "count", (json_int_t)g->count,
		"total_ns", number(clock_ticks_to_ns(scale, g->total_ticks)), "max_ns",
		number(clock_ticks_to_ns(scale, g->max_ticks)), "worst", worst, "wakes", wakes);
}

static void add_drops(json_t *list, const struct port *p)
{
	for (unsigned i = 0; p && i < p->drop_count; i++)
		json_array_append_new(list,
				      json_pack("{s:s,s:I}", "name", p->drops[i].name, "count",
						(json_int_t)__atomic_load_n(&p->drops[i].count,
									    __ATOMIC_RELAXED)));
}

json_t *reply_port(const struct port *p)
{
	json_t *drops = json_array();
	add_drops(drops, p);
	return json_pack(
		"{s:s,s:I,s:I,s:o}", "port", p->config.name, "rx_packets",
		(json_int_t)__atomic_load_n(&p->rx_packets, __ATOMIC_RELAXED), "tx_packets",
		(json_int_t)__atomic_load_n(&p->tx_packets, __ATOMIC_RELAXED), "drops", drops);
}

json_t *reply_service(const struct service *s)
{
	json_t *ports = json_array();
	for (unsigned i = 0; i < s->config.port_count; i++)
		json_array_append_new(ports, reply_port(s->config.ports[i]));
	/* Reads the running thread's gap meter without a lock, so a count may be newer than its
	 * total. */
	return json_pack("{s:o,s:o,s:i,s:i,s:s}", "ports", ports, "gaps",
			 reply_gaps(&s->gaps, &clock_global.scale, s->start_ticks), "cpu",
			 s->config.cpu, "tid", s->tid, "scheduling", s->scheduling);
}

static json_t *reply_notices(const struct notices *n)
{
	return json_pack("{s:I,s:I}", "address", (json_int_t)(uintptr_t)n, "capacity",
			 (json_int_t)n->capacity);
}

json_t *reply_watch_notices(const struct watch *w)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < w->count; i++)
		json_array_append_new(list, reply_notices(w->cpus[i].notices));
	return list;
}

json_t *reply_watch(const struct watch *w)
{
	const struct clock_scale *scale = &clock_global.scale;
	json_t *list = json_array();
	for (unsigned i = 0; i < w->count; i++) {
		const struct watch_cpu *c = &w->cpus[i];
		json_array_append_new(
			list,
			json_pack("{s:i,s:i,s:s,s:o,s:I,s:o,s:o}", "cpu", c->cpu, "tid", c->tid,
				  "scheduling", c->scheduling, "elapsed_ns",
				  number(clock_ticks_to_ns(scale, c->end_ticks - c->begin_ticks)),
				  "run_delay_ns", (json_int_t)c->run_delay_ns, "gaps",
				  reply_gaps(&c->gaps, scale, c->begin_ticks), "lengths",
				  reply_histogram(&c->lengths)));
	}
	return list;
}

json_t *reply_tsc(void)
{
	return json_pack("{s:f,s:b,s:b,s:I}", "hz", clock_global.scale.hz, "constant",
			 clock_global.constant, "nonstop", clock_global.nonstop, "bracket_ns",
			 (json_int_t)clock_global.scale.base.bracket_ns);
}

json_t *reply_clock(const struct clock_wall *w)
{
	json_t *o = reply_accepted("clock");
	const struct clock_scale *s = &w->scale;
	json_object_set_new(o, "ticks", number(s->base.ticks));
	json_object_set_new(o, "ns_per_tick", number(s->ns_per_tick));
	json_object_set_new(o, "ns", number(s->base.ns));
	json_object_set_new(o, "realtime_ns", json_integer((json_int_t)s->base.ns + w->ahead_ns));
	json_object_set_new(o, "bracket_ns", number(s->base.bracket_ns + w->bracket_ns));
	json_object_set_new(o, "synchronised", json_boolean(w->synchronised));
	json_object_set_new(o, "max_error_ns", number(w->max_error_ns));
	return o;
}

static json_t *rates(const struct trial *t)
{
	json_t *list = json_array();
	uint32_t last = t->seconds;
	const uint64_t *r = t->rates;
	while (last > 0 && !r[last - 1] && !r[t->seconds + last - 1] &&
	       !r[2 * t->seconds + last - 1])
		last--;
	for (uint32_t i = 0; i < last; i++)
		json_array_append_new(list, json_pack("[I,I,I,I]", (json_int_t)i, (json_int_t)r[i],
						      (json_int_t)r[t->seconds + i],
						      (json_int_t)r[2 * t->seconds + i]));
	return list;
}

static json_t *tsc(const struct trial *t)
{
	double drift = (t->scale_end.hz / t->scale.hz - 1) * 1e6;
	return json_pack("{s:f,s:f,s:f,s:I,s:I,s:b,s:b}", "hz_start", t->scale.hz, "hz_end",
			 t->scale_end.hz, "drift_ppm", drift, "bracket_ns",
			 (json_int_t)t->end_point.bracket_ns, "max_error_ns",
			 (json_int_t)t->max_error_ns, "constant", clock_global.constant, "nonstop",
			 clock_global.nonstop);
}

static json_t *stream(const struct stream *m)
{
	const struct {
		const char *key;
		uint64_t value;
	} counts[] = {
		{"intended_packets", m->intended},
		{"tx_packets", m->sent},
		{"tx_failed", m->failed},
		{"rx_packets", m->seen.unique},
		{"duplicate_packets", m->seen.duplicate},
		{"reordered_packets", m->seen.reordered},
		{"late_packets", m->seen.late},
		{"early_packets", m->early},
		{"warmup_rx_packets", m->warmup},
	};
	json_t *o = json_pack("{s:s}", "name", m->config.name);
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
		json_object_set_new(o, counts[i].key, number(counts[i].value));
	if (m->latency)
		json_object_set_new(o, "latency", head(m->latency));
	struct seen_missing missing;
	if (m->seen.words && seen_missing(&m->seen, &missing))
		json_object_set_new(o, "missing",
				    json_pack("{s:o,s:o,s:o,s:o}", "runs", number(missing.runs),
					      "longest", number(missing.longest), "longest_from",
					      number(missing.longest_from), "next",
					      number(m->seen.next)));
	return o;
}

static json_t *streams(const struct trial *t)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < t->stream_count; i++)
		json_array_append_new(list, stream(&t->streams[i]));
	return list;
}

static void add_recording(json_t *list, const char *what, const char *file,
			  const struct recorder_outcome *outcome)
{
	if (!file[0])
		return;
	json_t *o = json_pack("{s:s,s:s,s:o,s:o}", "what", what, "file", file, "records",
			      number(outcome->written), "lost", number(outcome->lost));
	if (outcome->error)
		json_object_set_new(o, "error", json_string(strerror(-outcome->error)));
	json_array_append_new(list, o);
}

static json_t *recordings(const struct trial *t)
{
	json_t *list = json_array();
	if (t->outlet_count > 0)
		add_recording(list, "sent", t->config.record_sent, &t->recorded_sent);
	if (t->inlet_count > 0)
		add_recording(list, "received", t->config.record_received, &t->recorded_received);
	return list;
}

static json_t *mac(const unsigned char *m)
{
	return json_sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
}

static json_t *ip(const unsigned int address[4])
{
	struct in6_addr a;
	char text[INET6_ADDRSTRLEN];
	memcpy(&a, address, sizeof a);
	if (IN6_IS_ADDR_V4MAPPED(&a))
		return json_string(inet_ntop(AF_INET, &a.s6_addr32[3], text, sizeof text));
	return json_string(inet_ntop(AF_INET6, &a, text, sizeof text));
}

static json_t *way(const struct port *port, const struct signature_row *row)
{
	const struct signature_fields *f = &row->signature.fields;
	return json_pack("{s:s,s:o,s:o,s:o,s:i,s:i,s:o,s:o,s:i,s:i,s:i}", "port", port->config.name,
			 "packets", number(row->packets), "source_mac", mac(f->source),
			 "destination_mac", mac(f->destination), "ttl", f->ttl, "tos", f->tos,
			 "source_ip", ip(f->ip_source), "destination_ip", ip(f->ip_destination),
			 "source_port", ntohs(f->udp_source), "destination_port",
			 ntohs(f->udp_destination), "ip_bytes", ntohs(f->ip_length));
}

static json_t *ways(const struct trial *t)
{
	json_t *list = json_array();
	const char *unseen = "";
	uint64_t others = 0;
	bool seen = true;
	for (unsigned i = 0; i < t->inlet_count; i++) {
		const struct inlet *inlet = &t->inlets[i];
		seen = seen && inlet->ways_seen;
		if (!unseen[0] || (!inlet->ways_seen && inlet->ways_unseen[0]))
			unseen = inlet->ways_unseen;
		for (unsigned j = 0; j < inlet->ways.table.count; j++)
			json_array_append_new(list, way(inlet->port, &inlet->ways.table.rows[j]));
		others += inlet->ways.table.others;
	}
	if (!seen)
		json_array_clear(list); /* those of other ports are not all */
	return json_pack("{s:o,s:o,s:s}", "ways", list, "others", number(seen ? others : 0),
			 "unseen", unseen);
}

json_t *reply_bulk(uint8_t *data, size_t size)
{
	size_t length = 0;
	char *text = data ? bulk_base64(data, size, &length) : NULL;
	json_t *o = text ? json_stringn_nocheck(text, length) : NULL;
	free(data);
	free(text);
	return o ? o : json_null();
}

static json_t *bulk(const struct trial *t)
{
	size_t size = 0;
	uint8_t *data = bulk_of(t, &size);
	return reply_bulk(data, size);
}

json_t *reply_started(const struct trial *t)
{
	const struct notices *n = t->receiver.notices;
	json_t *o = json_pack("{s:s,s:I,s:I,s:i}", "event", "started", "start_ns",
			      (json_int_t)t->start_ns, "now_ns", (json_int_t)clock_monotonic_ns(),
			      "tid", t->tid);
	if (n)
		json_object_set_new(o, "notices", reply_notices(n));
	return o;
}

static json_t *arrivals(const struct arrivals_header *h)
{
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "rows", (json_int_t)h->written, "one_in",
			 (json_int_t)h->one_in, "missed", (json_int_t)h->missed, "saturated",
			 (json_int_t)h->saturated, "lost", (json_int_t)h->lost, "lost_missed",
			 (json_int_t)h->lost_missed);
}

static json_t *pauses(const struct trial *t)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < t->pause_count; i++)
		json_array_append_new(
			list,
			json_pack("[o,o]",
				  since(&t->scale_end, t->measured_ticks, t->pauses[i].at_ticks),
				  number(clock_ticks_to_ns(&t->scale_end,
							   t->pauses[i].length_ticks))));
	return list;
}

json_t *reply_trial(const struct trial *t)
{
	json_t *o = json_pack(
		"{s:s,s:b,s:s,s:b,s:I,s:I,s:o,s:i,s:i,s:o,s:I}", "reply", "trial", "ok", 1, "role",
		t->config.role, "interrupted", t->interrupted, "start_ns", (json_int_t)t->start_ns,
		"measured_start_ns", (json_int_t)t->measured_start_ns, "end_ns",
		number(clock_at_ns(&t->scale, t->end_ticks)), "cpu", t->cpu_ran, "tid", t->tid,
		"runs", number(t->runs.count), "run_delay_ns", (json_int_t)t->runs.delay_ns);
	json_object_set_new(o, "waited_ns", number(t->waited_ns));
	if (t->finished_ns)
		json_object_set_new(o, "stopped_ns", number(t->finished_ns));
	if (t->pause_count)
		json_object_set_new(o, "pauses", pauses(t));
	json_object_set_new(o, "scheduling", json_string(t->scheduling));
	json_t *drops = json_array(), *notes = json_array();
	json_object_set_new(o, "streams", streams(t));
	json_object_set_new(o, "invalid_packets", number(t->receiver.invalid));
	for (unsigned i = 0; i < t->port_count; i++)
		add_drops(drops, t->ports[i].port);
	json_object_set_new(o, "drops", drops);
	const struct receiver *r = &t->receiver;
	json_object_set_new(o, "latency", head(&r->latency));
	if (t->inlet_count > 0)
		json_object_set_new(
			o, "latency_blocks",
			json_pack("{s:o,s:I}", "length_ns",
				  number(clock_ticks_to_ns(&t->scale, r->blocks.length_ticks)),
				  "count", (json_int_t)bulk_blocks(t)));
	json_object_set_new(o, "from_tx", head(&r->from_tx));
	/* As in bulk_of. */
	json_object_set_new(o, "send_lag",
			    head(t->outlet_count > 0 ? &t->sender.send_lag : &r->send_lag));
	json_object_set_new(o, "spacing", head(&t->sender.spacing));
	json_object_set_new(o, "bulk", bulk(t));
	if (t->inlet_count > 0)
		json_object_set_new(o, "seen", ways(t));
	json_object_set_new(o, "rate", rates(t));
	json_object_set_new(o, "gaps", reply_gaps(&t->gaps, &t->scale, t->measured_ticks));
	json_object_set_new(o, "interruptions",
			    reply_interruptions(t->interruptions, &t->gaps, &t->scale_end));
	json_object_set_new(o, "tsc", tsc(t));
	if (t->config.record_sent[0] || t->config.record_received[0])
		json_object_set_new(o, "recordings", recordings(t));
	if (t->arrived.one_in)
		json_object_set_new(o, "arrivals", arrivals(&t->arrived));
	for (unsigned i = 0; i < t->note_count; i++)
		json_array_append_new(notes, json_string(t->notes[i]));
	json_object_set_new(o, "notes", notes);
	return o;
}

json_t *reply_accepted(const char *name)
{
	return json_pack("{s:s,s:b}", "reply", name, "ok", 1);
}

json_t *reply_refusal(const char *name, int err, const char *why)
{
	json_t *o = json_pack("{s:s,s:b}", "reply", name, "ok", 0);
	const char *symbol = err ? strerrorname_np(err < 0 ? -err : err) : NULL;
	char text[COMMAND_ERROR_BYTES + 128];
	if (err && err != -EINVAL)
		snprintf(text, sizeof text, "%s: %s", why, strerror(err < 0 ? -err : err));
	else
		snprintf(text, sizeof text, "%s", why);
	/* A message may quote a byte that is no UTF-8, which JSON cannot hold. */
	json_t *message = json_string(text);
	json_object_set_new(o, "error", message ? message : json_string("unreadable text"));
	if (symbol)
		json_object_set_new(o, "errno", json_string(symbol));
	return o;
}
