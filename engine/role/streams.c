/* The streams of a trial, and the ports that they share; see trial.h. */
#include "role/trial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* At rate 0 there is no schedule. */
uint64_t stream_ids(const struct stream_config *c, uint64_t duration_ns)
{
	uint64_t n = schedule_expected(&c->schedule, duration_ns);
	/* A poisson schedule may exceed its mean; this allows 6 sigma. */
	if (c->schedule.pattern == SCHEDULE_POISSON)
		n += n / 16 + 1024 * (uint64_t)c->schedule.burst;
	/* The last pair of a duet may not be whole. */
	if (c->schedule.side != SCHEDULE_ALONE)
		n += c->schedule.burst;
	return n;
}

/* Memory for `count` things that the measuring thread writes, faulted in; NULL if there is none. */
static void *zeroed(size_t count, size_t bytes)
{
	size_t whole = (count * bytes + 63) / 64 * 64;
	void *memory = aligned_alloc(64, whole);
	return memory ? memset(memory, 0, whole) : NULL;
}

static void add_port(struct trial *t, struct port *port, unsigned direction)
{
	unsigned i = 0;
	while (i < t->port_count && t->ports[i].port != port)
		i++;
	if (i == t->port_count)
		t->ports[t->port_count++].port = port;
	t->ports[i].directions |= direction;
}

static struct outlet *outlet_of(struct trial *t, struct port *port)
{
	unsigned i = 0;
	while (i < t->outlet_count && t->outlets[i].port != port)
		i++;
	struct outlet *o = &t->outlets[i];
	if (i < t->outlet_count)
		return o;
	t->outlet_count++;
	o->port = port;
	if (port->ops->layer == PORT_FRAME)
		frame_template_init(&o->template, &port->config);
	add_port(t, port, PORT_TX);
	return o;
}

static struct inlet *inlet_of(struct trial *t, struct port *port)
{
	unsigned i = 0;
	while (i < t->inlet_count && t->inlets[i].port != port)
		i++;
	struct inlet *inlet = &t->inlets[i];
	if (i < t->inlet_count)
		return inlet;
	t->inlet_count++;
	inlet->port = port;
	inlet->frames = inlet->ways_seen = port->ops->layer == PORT_FRAME;
	ways_begin(&inlet->ways, &port->config);
	/* What gives such a port its packets knows nothing of the engine's UDP port. */
	if (port->ops->takes_device || port->config.map[0])
		inlet->foreign = port_drop_counter(port, "rx_foreign");
	add_port(t, port, PORT_RX);
	return inlet;
}

static int stream_init(struct trial *t, struct stream *m, const struct stream_config *config)
{
	unsigned count = t->config.stream_count;
	m->config = *config;
	m->number = (uint16_t)(m - t->streams);
	m->flags = config->schedule.side == SCHEDULE_SIDE_B ? PAYLOAD_SIDE_B : 0;
	if (config->tx)
		m->outlet = outlet_of(t, config->tx);
	if (!config->rx)
		return 0;
	m->inlet = inlet_of(t, config->rx);
	int err = seen_init(&m->seen, stream_ids(config, t->config.duration_ns), count);
	if (err)
		return err;
	memset(m->seen.words, 0, seen_bytes(&m->seen));
	if (count == 1)
		return 0;
	m->latency = malloc(sizeof *m->latency);
	if (!m->latency)
		return -ENOMEM;
	histogram_clear(m->latency); /* this also faults it in */
	return 0;
}

int streams_init(struct trial *t)
{
	unsigned count = t->config.stream_count,
		 ports = count < TRIAL_PORTS_MAX ? count : TRIAL_PORTS_MAX;
	t->streams = zeroed(count, sizeof *t->streams);
	t->outlets = zeroed(ports, sizeof *t->outlets);
	t->sender.order = zeroed(count, sizeof(struct stream *));
	if (!t->streams || !t->outlets || !t->sender.order)
		return -ENOMEM;
	for (; t->stream_count < count; t->stream_count++) {
		int err = stream_init(t, &t->streams[t->stream_count],
				      &t->config.streams[t->stream_count]);
		if (err)
			return err;
	}
	return 0;
}

void streams_free(struct trial *t)
{
	for (unsigned i = 0; t->streams && i < t->config.stream_count; i++) {
		seen_free(&t->streams[i].seen);
		free(t->streams[i].latency);
	}
	free(t->streams);
	free(t->outlets);
	free(t->sender.order);
}
