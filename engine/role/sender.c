/*
 * The sending half of a trial.
 *
 *   schedule -> due? -> tx_acquire -> write headers, payload and stamp -> tx_commit
 *                                          ^                                |
 *                                          '-- packets the port did not take-'
 *
 * All of this runs on the measuring thread. A packet is stamped just before its burst is committed,
 * and again if the port was full; its intended time does not change.
 */
#include "role/trial.h"

#include <errno.h>

enum {
	/* How long after its end a trial may still send late packets, so that one hiccup at the end
	 * loses none: a hundredth of its duration, at most 10 ms. A generator that cannot keep up
	 * stops there, and sends too few. */
	GRACE_DIVISOR = 100,
	GRACE_MAX_NS = 10000000,
};

static bool asap(const struct sender *s)
{
	return s->schedule.config.rate_upps == 0;
}

static void begin_phase(struct trial *t, bool measured, uint64_t start_ticks, uint64_t length_ns)
{
	struct sender *s = &t->sender;
	struct schedule_config config = t->config.schedule;
	if (!measured)
		config.seed = ~config.seed;
	schedule_init(&s->schedule, &config);
	s->measured = measured;
	s->phase_ticks = start_ticks;
	s->phase_ns = length_ns;
	s->due_ticks = start_ticks;
	/* A packet's flow follows from its id. */
	s->id = 0;
	s->flow = 0;
}

void sender_begin(struct trial *t)
{
	struct sender *s = &t->sender;
	uint64_t grace = t->config.duration_ns / GRACE_DIVISOR;
	if (grace > GRACE_MAX_NS)
		grace = GRACE_MAX_NS;
	if (t->config.schedule.rate_upps == 0)
		grace = 0;
	s->stop_ticks = t->measured_end_ticks + clock_ns_to_ticks(&t->scale, grace);
	begin_phase(t, false, t->start_ticks, t->config.warmup_ns);
	if (t->config.warmup_ns == 0)
		begin_phase(t, true, t->measured_ticks, t->config.duration_ns);
}

/* Whether the next packet of the schedule is due; moves to the next phase when this one's schedule
 * is over. */
static bool head_is_due(struct trial *t, uint64_t now)
{
	struct sender *s = &t->sender;
	if (!s->measured && (now >= t->measured_ticks || s->schedule.due_ns >= s->phase_ns)) {
		begin_phase(t, true, t->measured_ticks, t->config.duration_ns);
	}
	if (s->measured && (now >= s->stop_ticks || s->schedule.due_ns >= s->phase_ns)) {
		s->done = true;
		return false;
	}
	return now >= s->due_ticks;
}

static void advance(struct trial *t)
{
	struct sender *s = &t->sender;
	s->id++;
	if (++s->flow >= s->port->config.flows)
		s->flow = 0;
	schedule_advance(&s->schedule);
	if (!asap(s))
		s->due_ticks = s->phase_ticks + clock_ns_to_ticks(&t->scale, s->schedule.due_ns);
}

/* The values written into a packet, kept until the port has taken it. */
struct stamp {
	uint64_t ticks, lag_ns;
};

static inline struct stamp write_packet(struct trial *t, struct packet *p, uint32_t id,
					uint64_t due, uint64_t now)
{
	struct sender *s = &t->sender;
	bool late = now > due && !asap(s);
	struct stamp stamp = {now, late ? clock_ticks_to_ns(&t->scale, now - due) : 0};
	struct payload payload = {
		.tx_ticks = now,
		.id = id,
		.send_lag_ns = payload_saturate_lag(stamp.lag_ns),
		.stream = TRIAL_STREAM,
		.flags = s->held_measured ? PAYLOAD_MEASURED : 0,
	};
	if (s->port->ops->layer == PORT_PAYLOAD) {
		struct payload_words words = payload_pack(&payload);
		payload_store(p->data, &words);
		if (p->length >= TRAILER_LEAST_BYTES)
			trailer_store(p->data + trailer_at(p->length), &words);
	} else {
		if (s->port->tx_dirty)
			memset(p->data, 0, p->length);
		frame_write(&s->template, p->data, p->flow, &payload);
	}
	return stamp;
}

/* Records `count` packets that the port took; `id`, `due` and `stamps` begin at the first. */
static void count_sent(struct trial *t, uint32_t id, const uint64_t *due,
		       const struct stamp *stamps, unsigned count)
{
	struct sender *s = &t->sender;
	if (!s->held_measured || count == 0)
		return;
	/* At rate 0 nothing is late. */
	if (asap(s))
		histogram_record_many(&s->send_lag, 0, count);
	/* NOLINTBEGIN(clang-analyzer-core.*): no more are counted than were stamped */
	for (unsigned i = 0; i < count; i++) {
		if (!asap(s))
			histogram_record(&s->send_lag, stamps[i].lag_ns);
		if (__builtin_expect(s->last_tx_ticks != 0, 1))
			histogram_record(
				&s->spacing,
				clock_ticks_to_ns(&t->scale, stamps[i].ticks - s->last_tx_ticks));
		s->last_tx_ticks = stamps[i].ticks;
	}
	for (unsigned i = 0; s->recorder && i < count; i++)
		recorder_put(s->recorder, id + i, recorder_saturate(stamps[i].lag_ns),
			     stamps[i].ticks);
	/* NOLINTEND(clang-analyzer-core.*) */
	/* The stamps of a burst are microseconds apart, but late packets may have been due long
	 * before, so each is counted in its own second. */
	rate_count(&s->sent, stamps[0].ticks, count);
	if (asap(s) || due[0] == due[count - 1])
		rate_count(&s->offered, due[0], count);
	else
		for (unsigned i = 0; i < count; i++)
			rate_count(&s->offered, due[i], 1);
}

/* Stamps and commits the held packets; returns the number taken. */
static unsigned commit_held(struct trial *t)
{
	struct sender *s = &t->sender;
	struct stamp stamps[PORT_BURST];
	struct packet *first = &s->held[s->held_from];
	const uint64_t *due = &s->held_due[s->held_from];
	for (unsigned i = 0; i < s->held_count; i++)
		stamps[i] = write_packet(t, first + i, s->held_id + i, due[i],
					 i ? clock_ticks_loose() : clock_ticks());
	int taken = port_tx_commit(s->port, first, s->held_count);
	if (taken < 0) {
		/* The port will never take this packet, but may take the next. */
		s->port->ops->tx_release(s->port, first, 1);
		if (s->held_measured) {
			s->failed++;
			rate_count(&s->offered, due[0], 1);
		}
		s->held_from++;
		s->held_id++;
		s->held_count--;
		return 0;
	}
	count_sent(t, s->held_id, due, stamps, (unsigned)taken);
	if (taken > 0)
		s->newest_ticks = stamps[taken - 1].ticks;
	s->held_from += (unsigned)taken;
	s->held_id += (uint32_t)taken;
	s->held_count -= (unsigned)taken;
	return (unsigned)taken;
}

void sender_end(struct trial *t)
{
	struct sender *s = &t->sender;
	if (s->held_count == 0)
		return;
	s->port->ops->tx_release(s->port, &s->held[s->held_from], s->held_count);
	if (s->held_measured)
		for (unsigned i = 0; i < s->held_count; i++)
			rate_count(&s->offered, s->held_due[s->held_from + i], 1);
	s->held_count = 0;
}

unsigned sender_step(struct trial *t, uint64_t now)
{
	struct sender *s = &t->sender;
	if (s->held_count > 0) {
		/* A port that stays full must not delay the next phase. */
		uint64_t end = s->held_measured ? s->stop_ticks : t->measured_ticks;
		if (now < end)
			return commit_held(t);
		sender_end(t);
	}
	if (!head_is_due(t, now))
		return 0;
	unsigned room = s->port->ops->tx_acquire(s->port, s->held, s->port->burst);
	unsigned count = 0;
	s->held_measured = s->measured; /* head_is_due has just looked */
	s->held_id = s->id;
	while (count < room && head_is_due(t, now) && s->measured == s->held_measured) {
		s->held[count].flow = s->flow;
		s->held_due[count] = asap(s) ? now : s->due_ticks;
		count++;
		advance(t);
	}
	if (count < room)
		s->port->ops->tx_release(s->port, s->held + count, room - count);
	s->held_from = 0;
	s->held_count = count;
	return count ? commit_held(t) : 0;
}

void sender_offer_rest(struct trial *t)
{
	struct sender *s = &t->sender;
	/* An aborted trial offers nothing after its end. */
	if (asap(s) || t->interrupted)
		return;
	if (!s->measured)
		begin_phase(t, true, t->measured_ticks, t->config.duration_ns);
	for (; s->schedule.due_ns < s->phase_ns; schedule_advance(&s->schedule))
		s->offered.counts[s->schedule.due_ns / 1000000000u]++;
}

uint64_t sender_intended(const struct trial *t)
{
	const struct sender *s = &t->sender;
	if (asap(s))
		return s->send_lag.count + s->failed;
	if (t->config.schedule.pattern == SCHEDULE_CONSTANT)
		return schedule_expected(&t->config.schedule, t->config.duration_ns);
	struct schedule rest;
	uint64_t n = 0;
	schedule_init(&rest, &t->config.schedule);
	for (; rest.due_ns < t->config.duration_ns; schedule_advance(&rest))
		n++;
	return n;
}
