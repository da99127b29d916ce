/* Sets a trial up and tears it down; see trial.h. */
#include "role/trial.h"

#include "role/announce.h"
#include "role/thread.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
	/* From trial_start to the first packet, unless the user gives a time: enough for the thread
	 * to start and the control thread to report it. */
	LEAD_NS = 5000000,
	GAP_FLOOR_NS = 1000,
	BEGIN_SLACK_NS = 1000000,
	FOREIGN_SLACK_NS = 100000000,
};
/* memif and virtio-user try to connect every second or two. */
#define PEER_WAIT_NS UINT64_C(5000000000)

void trial_note(struct trial *t, const char *format, ...)
{
	va_list args;
	if (t->note_count == TRIAL_NOTES_MAX)
		return;
	va_start(args, format);
	vsnprintf(t->notes[t->note_count++], sizeof t->notes[0], format, args);
	va_end(args);
}

static int trial_rates(struct trial *t)
{
	uint64_t ns = t->config.duration_ns + t->config.drain_ns;
	t->seconds = (uint32_t)(ns / 1000000000u) + 2;
	t->rates = calloc(3 * (size_t)t->seconds, sizeof *t->rates);
	return t->rates ? 0 : -ENOMEM;
}

static uint32_t trial_interruptions(const struct trial_config *config)
{
	return interruptions_room(config->warmup_ns + config->duration_ns + config->drain_ns);
}

static int receiver_init(struct receiver *r, const struct trial_config *config)
{
	int err = blocks_init(&r->blocks, config->duration_ns);
	if (!err)
		err = worst_init(&r->worst, config->outliers);
	if (err)
		return err;
	if (r->worst.heap)
		memset(r->worst.heap, 0, config->outliers * sizeof *r->worst.heap);
	err = sample_init(&r->sample, config->ordinary, config->streams[0].schedule.seed);
	return !err && config->notices ? notices_new(&r->notices, config->notices) : err;
}

int trial_new(const struct trial_config *config, struct trial **out, char *error, size_t size)
{
	int err = -ENOMEM;
	struct trial *t = aligned_alloc(64, (sizeof *t + 63) / 64 * 64);
	if (!t)
		goto fail;
	memset(t, 0, sizeof *t); /* this also faults it in */
	t->config = *config;
	t->measured_flags = PAYLOAD_MEASURED | (config->probe ? PAYLOAD_PROBE : 0);
	if (config->foreign)
		t->config.sender_scale.ticks_per_ns =
			clock_ticks_per_ns(config->sender_scale.ns_per_tick);
	t->stop_fd = t->done_fd = -1;
	t->cpu_ran = -1;
	atomic_store(&t->expect, UINT64_MAX);
	histogram_clear(&t->sender.send_lag);
	histogram_clear(&t->sender.spacing);
	histogram_clear(&t->receiver.latency);
	histogram_clear(&t->receiver.from_tx);
	histogram_clear(&t->receiver.send_lag);
	t->stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	t->done_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (t->stop_fd < 0 || t->done_fd < 0) {
		err = -errno;
		goto fail;
	}
	err = trial_rates(t);
	if (!err)
		err = interruptions_new(&t->interruptions, trial_interruptions(config));
	if (!err)
		err = streams_init(t);
	if (!err && t->inlet_count > 0)
		err = receiver_init(&t->receiver, config);
	if (err)
		goto fail;
	/* The caller's list need not outlive this call. */
	t->config.streams = NULL;
	*out = t;
	return 0;
fail:
	snprintf(error, size, "cannot set the trial up");
	if (t)
		trial_free(t);
	return err;
}

/* Without its other end, a measurement would only count lost packets. So this waits for it, but
 * only for a limited time. */
static int await_peer(struct port *port, char *error, size_t size)
{
	struct timespec pause = {.tv_nsec = 1000000};
	uint64_t end = clock_monotonic_ns() + PEER_WAIT_NS;
	unsigned notes = port->note_count;
	while (!port_connected(port)) {
		if (clock_monotonic_ns() >= end) {
			snprintf(
				error, size,
				"port %s waits for its peer: no program is at the other end of %.300s%s%s",
				port->config.name, port->config.device,
				port->note_count > notes ? "; " : "",
				port->note_count > notes ? port->notes[port->note_count - 1] : "");
			return -ENOTCONN;
		}
		if (port->ops->reconnect)
			port->ops->reconnect(port);
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int await_peers(struct trial *t, char *error, size_t size)
{
	int err = 0;
	for (unsigned i = 0; i < t->port_count && !err; i++)
		err = await_peer(t->ports[i].port, error, size);
	return err;
}

static int start_port(struct trial_port *p, char *error, size_t size)
{
	p->notes = p->port->note_count;
	int err = p->port->ops->start(p->port, p->directions);
	/* The caller adds the meaning of the error. */
	if (err)
		snprintf(error, size, "cannot start port %s%s", p->port->config.name,
			 err == -ENETUNREACH		     ? ", whose peer_ip has no route here"
			 : err == -ENETDOWN || err == -ENXIO ? ", whose interface is not up"
							     : "");
	return err;
}

/* Those that only receive come first: a port that is ready to receive does no harm if another cannot
 * be started. */
static int start_ports(struct trial *t, char *error, size_t size)
{
	int err = 0;
	for (unsigned sends = 0; sends <= 1; sends++)
		for (unsigned i = 0; i < t->port_count && !err; i++)
			if (!!(t->ports[i].directions & PORT_TX) == sends)
				err = start_port(&t->ports[i], error, size);
	return err;
}

static void announce_ports(struct trial *t)
{
	for (unsigned i = 0; i < t->inlet_count; i++)
		if (announce(t->inlets[i].port))
			trial_note(t, "%s: its address could not be announced: a switch may flood",
				   t->inlets[i].port->config.name);
}

/* A trial is worth having without what this would see. */
static void begin_ways(struct inlet *inlet)
{
	const struct port_ops *ops = inlet->port->ops;
	char why[120] = "";
	if (!ops->ways_begin)
		return;
	int err = ops->ways_begin(inlet->port, why, sizeof why);
	inlet->ways_seen = err >= 0;
	if (err)
		snprintf(inlet->ways_unseen, sizeof inlet->ways_unseen, "%s: %s",
			 inlet->port->config.name, why[0] ? why : strerror(-err));
}

static void read_ways(struct inlet *inlet)
{
	struct signatures counted;
	if (inlet->frames)
		ways_end(&inlet->ways);
	if (!inlet->ways_seen || inlet->frames)
		return;
	inlet->ways_seen = inlet->port->ops->ways_read(inlet->port, &counted) == 0;
	if (inlet->ways_seen)
		signatures_merge(&inlet->ways.table, &counted);
	else
		snprintf(inlet->ways_unseen, sizeof inlet->ways_unseen,
			 "%s: its map cannot be read", inlet->port->config.name);
}

static void set_times(struct trial *t)
{
	const struct trial_config *c = &t->config;
	t->start_ns = c->start_ns ? c->start_ns : clock_monotonic_ns() + LEAD_NS;
	t->measured_start_ns = t->start_ns + c->warmup_ns;
	t->start_ticks = clock_at_ticks(&t->scale, t->start_ns);
	t->measured_ticks = clock_at_ticks(&t->scale, t->measured_start_ns);
	t->measured_end_ticks = clock_at_ticks(&t->scale, t->measured_start_ns + c->duration_ns);
	t->drain_end_ticks = t->measured_end_ticks + clock_ns_to_ticks(&t->scale, c->drain_ns);
	uint64_t second = clock_ns_to_ticks(&t->scale, 1000000000u);
	rate_init(&t->sender.offered, t->rates, t->seconds, t->measured_ticks, second);
	rate_init(&t->sender.sent, t->rates + t->seconds, t->seconds, t->measured_ticks, second);
	rate_init(&t->receiver.received, t->rates + 2 * t->seconds, t->seconds, t->measured_ticks,
		  second);
	/* A generator in another process calibrates by itself, so its start may be some hundred
	 * nanoseconds earlier; one on another machine, as much as the two clocks differ. */
	uint64_t slack = c->foreign ? FOREIGN_SLACK_NS : BEGIN_SLACK_NS;
	t->receiver.begin_ticks = t->start_ticks - clock_ns_to_ticks(&t->scale, slack);
	if (t->inlet_count > 0)
		blocks_begin(&t->receiver.blocks, t->measured_ticks, t->measured_end_ticks);
	if (t->receiver.arrivals)
		arrivals_begin(t->receiver.arrivals, t->receiver.begin_ticks, t->measured_ticks,
			       &t->scale);
	gaps_init(&t->gaps, clock_ns_to_ticks(&t->scale, GAP_FLOOR_NS));
	interruptions_begin(t->interruptions, &t->gaps);
}

static int open_recorder(struct trial *t, const char *file, uint64_t expected,
			 struct recorder **out, char *error, size_t size)
{
	struct recorder_config config = {
		.file = file,
		.expected = expected,
		.measuring_cpu = t->config.cpu,
	};
	if (!file[0])
		return 0;
	int err = recorder_open(out, &config);
	if (err)
		snprintf(error, size, "cannot record packets into %.200s", file);
	return err;
}

/* Called before the clock is calibrated, because allocating so much memory takes time. */
static int open_recorders(struct trial *t, char *error, size_t size)
{
	int err = 0;
	uint64_t ids = stream_ids(&t->streams[0].config, t->config.duration_ns);
	if (t->outlet_count > 0)
		err = open_recorder(t, t->config.record_sent, ids, &t->sender.recorder, error,
				    size);
	/* Each packet may arrive twice. */
	if (!err && t->inlet_count > 0)
		err = open_recorder(t, t->config.record_received, 2 * ids, &t->receiver.recorder,
				    error, size);
	return err;
}

/* Called before the clock is calibrated, as for recorders. */
static int open_arrivals(struct trial *t, char *error, size_t size)
{
	const struct trial_config *c = &t->config;
	struct arrivals_config config = {
		.file = c->arrivals,
		.duration_ns = c->warmup_ns + c->duration_ns + c->drain_ns,
	};
	if (!c->arrivals[0] || t->inlet_count == 0)
		return 0;
	for (unsigned i = 0; i < t->stream_count; i++) {
		uint64_t ids = stream_ids(&t->streams[i].config, c->duration_ns);
		config.expected += ids;
		if (ids == 0) { /* unknown, and so is the sum */
			config.expected = 0;
			break;
		}
	}
	if (t->streams[0]
		    .config.schedule
		    .side) /* a duet pauses, with packets under way on a busy host */
		config.twice = config.expected / 4 < ARRIVALS_TWICE_MAX ? config.expected / 4
									: ARRIVALS_TWICE_MAX;
	int err = arrivals_open(&t->receiver.arrivals, &config);
	if (err)
		snprintf(error, size, "cannot keep the arrivals in %.200s%s", c->arrivals,
			 err == -EMEDIUMTYPE ? ", which is not in memory (memfd_create, tmpfs)"
					     : "");
	return err;
}

static void close_arrivals(struct trial *t)
{
	struct arrivals *a = t->receiver.arrivals;
	if (!a)
		return;
	if (atomic_load(&t->ended))
		trial_list_lost(t, true);
	arrivals_close(a, t->scale_end.ns_per_tick, &t->arrived);
	t->receiver.arrivals = NULL;
}

static void close_recorder(struct trial *t, struct recorder **r, enum recorder_kind kind,
			   const struct port *port, struct recorder_outcome *outcome)
{
	struct recorder_header header = {
		.magic = RECORDER_MAGIC,
		.version = RECORDER_VERSION,
		.kind = kind,
		.base_ticks = t->scale.base.ticks,
		.base_ns = t->scale.base.ns,
		.ns_per_tick = t->scale.ns_per_tick,
		.measured_start_ns = t->measured_start_ns,
		.flows = port->config.flows,
	};
	if (!*r)
		return;
	if ((*r)->shares_cpu)
		trial_note(t, "packets were written to the disk from the measuring CPU, as the "
			      "engine may use no other: give its node one more");
	recorder_close(*r, atomic_load(&t->ended) ? &header : NULL, outcome);
	*r = NULL;
}

static void close_recorders(struct trial *t)
{
	if (t->outlet_count > 0)
		close_recorder(t, &t->sender.recorder, RECORDER_SENT, t->outlets[0].port,
			       &t->recorded_sent);
	if (t->inlet_count > 0)
		close_recorder(t, &t->receiver.recorder, RECORDER_RECEIVED, t->inlets[0].port,
			       &t->recorded_received);
}

/* Packets due before a trial could begin would leave late or never, and look like a slow network.
 * Only the warm-up may be cut short. */
static int check_start(const struct trial *t, char *error, size_t size)
{
	uint64_t now = clock_monotonic_ns();
	if (now <= t->measured_start_ns)
		return 0;
	snprintf(error, size,
		 "the first packet was due %.1f ms before everything was ready: give a later "
		 "start_ns",
		 (double)(now - t->measured_start_ns) / 1e6);
	return -ETIME;
}

int trial_start(struct trial *t, char *error, size_t size)
{
	int err = await_peers(t, error, size);
	if (err)
		return err;
	err = open_recorders(t, error, size);
	if (err)
		return err;
	err = open_arrivals(t, error, size);
	if (err)
		return err;
	err = start_ports(t, error, size);
	if (err)
		return err;
	for (unsigned i = 0; i < t->inlet_count; i++)
		begin_ways(&t->inlets[i]);
	announce_ports(t);
	t->scale = clock_calibrate(CLOCK_CALIBRATION_NS);
	if (!clock_global.use_tsc)
		trial_note(t, "no constant and nonstop TSC: stamps are clock_gettime's");
	set_times(t);
	err = check_start(t, error, size);
	if (err)
		return err;
	if (t->outlet_count > 0)
		sender_begin(t);
	err = thread_start(&t->thread, t->config.cpu, trial_loop, t, error, size);
	t->thread_started = err == 0;
	return err;
}

int trial_ask(struct trial *t, enum trial_order order)
{
	uint64_t one = 1;
	if (order < TRIAL_FINISH && atomic_load(&t->asked) >= TRIAL_FINISH)
		return -EALREADY;
	if (order == TRIAL_PAUSE && t->pauses_asked++ == TRIAL_PAUSES_MAX)
		return -EMFILE;
	atomic_store(&t->asked, order);
	/* Wakes the thread if it sleeps. */
	return write(t->stop_fd, &one, sizeof one) < 0 ? -errno : 0;
}

void trial_expect(struct trial *t, uint64_t packets)
{
	atomic_store(&t->expect, packets);
}

/* Reads a port's counters, and copies the notes that it added during the trial. */
static void end_port(struct trial *t, const struct trial_port *p)
{
	for (unsigned i = p->notes; i < p->port->note_count; i++)
		trial_note(t, "%s: %s", p->port->config.name, p->port->notes[i]);
	p->port->ops->refresh(p->port);
}

void trial_join(struct trial *t)
{
	pthread_join(t->thread, NULL);
	t->thread_started = false;
	t->end_point = clock_read_point();
	t->scale_end = clock_scale_between(t->scale.base, t->end_point);
	uint64_t told = clock_at_ns(&t->scale, t->end_point.ticks);
	uint64_t off = told > t->end_point.ns ? told - t->end_point.ns : t->end_point.ns - told;
	t->max_error_ns = off + t->end_point.bracket_ns;
	if (t->outlet_count > 0) {
		for (unsigned i = 0; i < t->stream_count; i++)
			t->streams[i].intended = sender_intended(t, &t->streams[i]);
		sender_offer_rest(t);
	}
	close_recorders(t);
	close_arrivals(t);
	for (unsigned i = 0; i < t->port_count; i++)
		end_port(t, &t->ports[i]);
	if (t->inlet_count > 0)
		blocks_sum(&t->receiver.blocks, &t->receiver.latency);
	for (unsigned i = 0; i < t->inlet_count; i++)
		read_ways(&t->inlets[i]);
	worst_sort(&t->receiver.worst);
	gaps_sort(&t->gaps);
}

void trial_free(struct trial *t)
{
	if (t->thread_started) {
		trial_ask(t, TRIAL_ABORT);
		pthread_join(t->thread, NULL);
	}
	close_recorders(t);
	close_arrivals(t);
	streams_free(t);
	blocks_free(&t->receiver.blocks);
	worst_free(&t->receiver.worst);
	sample_free(&t->receiver.sample);
	notices_retire(t->receiver.notices);
	interruptions_free(t->interruptions);
	free(t->rates);
	if (t->stop_fd >= 0)
		close(t->stop_fd);
	if (t->done_fd >= 0)
		close(t->done_fd);
	free(t);
}
