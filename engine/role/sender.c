/*
 * The sending half of a trial.
 *
 *   schedules -> first due? -> tx_acquire -> write headers, stamps -> tx_commit
 *                                               ^                        |
 *                                               '-- packets the port did not take-'
 *
 * All of this runs on the measuring thread. A packet is stamped just before its burst is committed,
 * and again if the port was full; its intended time does not change. A burst is of one stream: of the
 * one whose packet is due first, up to the moment when another stream's is.
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

static bool asap(const struct stream *m)
{
	return m->schedule.config.rate_upps == 0;
}

static void finish(struct trial *t, struct stream *m)
{
	if (m->due_ticks == UINT64_MAX)
		return;
	m->due_ticks = UINT64_MAX;
	t->sender.active--;
}

/* When the packet at which the schedule stands is due. */
static inline uint64_t due_ticks(const struct trial *t, const struct stream *m)
{
	return m->phase_ticks + clock_ns_to_ticks(&t->scale, m->schedule.due_ns);
}

static void begin_phase(struct trial *t, struct stream *m, bool measured)
{
	struct schedule_config config = m->config.schedule;
	if (!measured) {
		config.seed = ~config.seed;
		config.side_seed = ~config.side_seed;
	}
	schedule_init(&m->schedule, &config);
	m->measured = measured;
	m->phase_ticks = measured ? t->measured_ticks : t->start_ticks;
	m->phase_ns = measured ? t->config.duration_ns : t->config.warmup_ns;
	/* A packet's flow follows from its id. */
	m->id = 0;
	m->flow = 0;
	if (m->schedule.due_ns < m->phase_ns)
		m->due_ticks = due_ticks(t, m);
	else if (measured)
		finish(t, m);
	else
		begin_phase(t, m, true);
}

/* Moves the stream at `at` to its place in the heap, after its next packet has become due later. */
static inline void settle(struct trial *t, unsigned at)
{
	struct stream **order = t->sender.order, *moved = order[at];
	for (;;) {
		unsigned child = 2 * at + 1;
		if (__builtin_expect(child >= t->stream_count, 1))
			break;
		if (child + 1 < t->stream_count &&
		    order[child + 1]->due_ticks < order[child]->due_ticks)
			child++;
		if (order[child]->due_ticks >= moved->due_ticks)
			break;
		order[at] = order[child];
		at = child;
	}
	order[at] = moved;
}

/* When the next of the other streams is due, if the stream at `at` is the first of all. Otherwise those
 * before it wait for their ports, and it need not wait for them. */
static inline uint64_t rival_due(const struct trial *t, unsigned at)
{
	struct stream *const *order = t->sender.order;
	uint64_t due = UINT64_MAX;
	/* The second of a heap is just below its top. */
	for (unsigned i = 1; at == 0 && i <= 2 && i < t->stream_count; i++)
		if (order[i]->due_ticks < due)
			due = order[i]->due_ticks;
	return due;
}

static uint64_t grace_ticks(const struct trial *t)
{
	uint64_t grace = t->config.duration_ns / GRACE_DIVISOR;
	return clock_ns_to_ticks(&t->scale, grace < GRACE_MAX_NS ? grace : GRACE_MAX_NS);
}

void sender_begin(struct trial *t)
{
	struct sender *s = &t->sender;
	s->stop_ticks = t->measured_end_ticks + grace_ticks(t);
	s->active = t->stream_count;
	for (unsigned i = 0; i < t->stream_count; i++) {
		s->order[i] = &t->streams[i];
		begin_phase(t, &t->streams[i], t->config.warmup_ns == 0);
	}
	/* All are due at once, but for a side of a duet. */
	settle(t, 0);
}

/* No more packets of a stream after this; at rate 0 nothing is late. */
static inline uint64_t stop_ticks(const struct trial *t, const struct stream *m)
{
	return asap(m) ? t->measured_end_ticks : t->sender.stop_ticks;
}

/* Whether the next packet of a stream is due. A warm-up that is behind is cut short. */
static bool head_is_due(struct trial *t, struct stream *m, uint64_t now)
{
	if (!m->measured && now >= t->measured_ticks)
		begin_phase(t, m, true);
	if (m->measured && now >= stop_ticks(t, m))
		finish(t, m);
	return now >= m->due_ticks;
}

/* Moves to the next packet of a schedule, and to the next phase when this one's schedule is over. */
static void advance(struct trial *t, struct stream *m)
{
	m->id++;
	if (++m->flow >= m->outlet->port->config.flows)
		m->flow = 0;
	schedule_advance(&m->schedule);
	if (m->schedule.due_ns < m->phase_ns) {
		if (!asap(m))
			m->due_ticks = due_ticks(t, m);
	} else if (m->measured) {
		finish(t, m);
	} else {
		begin_phase(t, m, true);
	}
}

/* The values written into a packet, kept until the port has taken it. */
struct stamp {
	uint64_t ticks, lag_ns;
};

static inline struct stamp write_packet(struct trial *t, const struct outlet *o, struct packet *p,
					uint32_t id, uint64_t due, uint64_t now)
{
	bool late = now > due && !asap(o->holder);
	struct stamp stamp = {now, late ? clock_ticks_to_ns(&t->scale, now - due) : 0};
	struct payload payload = {
		.tx_ticks = now,
		.id = id,
		.send_lag_ns = payload_saturate_lag(stamp.lag_ns),
		.stream = o->holder->number,
		.flags = o->holder->flags | (o->held_measured ? t->measured_flags : 0),
	};
	if (o->port->ops->layer == PORT_PAYLOAD) {
		struct payload_words words = payload_pack(&payload);
		payload_store(p->data, &words);
		if (p->length >= TRAILER_LEAST_BYTES)
			trailer_store(p->data + trailer_at(p->length), &words);
	} else {
		if (o->port->tx_dirty)
			memset(p->data, 0, p->length);
		frame_write(&o->template, p->data, p->flow, &payload);
	}
	return stamp;
}

/* Records `count` packets that the port took; `id`, `due` and `stamps` begin at the first. */
static void count_sent(struct trial *t, const struct outlet *o, uint32_t id, const uint64_t *due,
		       const struct stamp *stamps, unsigned count)
{
	struct sender *s = &t->sender;
	struct stream *m = o->holder;
	if (!o->held_measured || count == 0)
		return;
	m->sent += count;
	/* At rate 0 nothing is late. */
	if (asap(m))
		histogram_record_many(&s->send_lag, 0, count);
	/* NOLINTBEGIN(clang-analyzer-core.*): no more are counted than were stamped */
	for (unsigned i = 0; i < count; i++) {
		if (!asap(m))
			histogram_record(&s->send_lag, stamps[i].lag_ns);
		if (__builtin_expect(m->last_tx_ticks != 0, 1))
			histogram_record(
				&s->spacing,
				clock_ticks_to_ns(&t->scale, stamps[i].ticks - m->last_tx_ticks));
		m->last_tx_ticks = stamps[i].ticks;
	}
	for (unsigned i = 0; s->recorder && i < count; i++)
		recorder_put(s->recorder, id + i, recorder_saturate(stamps[i].lag_ns),
			     stamps[i].ticks);
	/* NOLINTEND(clang-analyzer-core.*) */
	/* The stamps of a burst are microseconds apart, but late packets may have been due long
	 * before, so each is counted in its own second. */
	rate_count(&s->sent, stamps[0].ticks, count);
	if (asap(m) || due[0] == due[count - 1])
		rate_count(&s->offered, due[0], count);
	else
		for (unsigned i = 0; i < count; i++)
			rate_count(&s->offered, due[i], 1);
}

/* Stamps and commits the held packets; returns the number taken. */
static unsigned commit_held(struct trial *t, struct outlet *o)
{
	struct sender *s = &t->sender;
	struct stamp stamps[PORT_BURST];
	struct packet *first = &o->held[o->held_from];
	const uint64_t *due = &o->held_due[o->held_from];
	for (unsigned i = 0; i < o->held_count; i++)
		stamps[i] = write_packet(t, o, first + i, o->held_id + i, due[i],
					 i ? clock_ticks_loose() : clock_ticks());
	int taken = port_tx_commit(o->port, first, o->held_count);
	unsigned gone = taken < 0 ? 1 : (unsigned)taken;
	if (taken < 0) {
		/* The port will never take this packet, but may take the next. */
		o->port->ops->tx_release(o->port, first, 1);
		if (o->held_measured) {
			o->holder->failed++;
			rate_count(&s->offered, due[0], 1);
		}
	} else if (taken > 0) {
		count_sent(t, o, o->held_id, due, stamps, gone);
		s->newest_ticks = stamps[gone - 1].ticks;
	}
	o->held_from += gone;
	o->held_id += gone;
	o->held_count -= gone;
	return taken < 0 ? 0 : gone;
}

static void drop_held(struct trial *t, struct outlet *o)
{
	o->port->ops->tx_release(o->port, &o->held[o->held_from], o->held_count);
	if (o->held_measured)
		for (unsigned i = 0; i < o->held_count; i++)
			rate_count(&t->sender.offered, o->held_due[o->held_from + i], 1);
	o->held_count = 0;
}

void sender_shift(struct trial *t, uint64_t ticks)
{
	struct sender *s = &t->sender;
	s->stop_ticks += ticks;
	for (unsigned i = 0; i < t->stream_count; i++) {
		struct stream *m = &t->streams[i];
		m->phase_ticks += ticks;
		if (m->due_ticks != UINT64_MAX)
			m->due_ticks += ticks;
		if (m->last_tx_ticks)
			m->last_tx_ticks += ticks;
	}
	for (unsigned i = 0; i < t->outlet_count; i++)
		for (unsigned j = 0; j < t->outlets[i].held_count; j++)
			t->outlets[i].held_due[t->outlets[i].held_from + j] += ticks;
	rate_shift(&s->offered, ticks);
	rate_shift(&s->sent, ticks);
}

void sender_cut(struct trial *t, uint64_t now)
{
	t->sender.stop_ticks = now + grace_ticks(t);
	for (unsigned i = 0; i < t->stream_count; i++) {
		struct stream *m = &t->streams[i];
		m->phase_ns = t->config.duration_ns;
		/* What was due is late, but still sent. */
		if (m->schedule.due_ns >= m->phase_ns || asap(m))
			finish(t, m);
	}
	for (unsigned i = t->stream_count; i-- > 0;)
		settle(t, i);
}

void sender_end(struct trial *t)
{
	for (unsigned i = 0; i < t->outlet_count; i++)
		if (t->outlets[i].held_count > 0)
			drop_held(t, &t->outlets[i]);
	t->sender.holding = 0;
}

/* Tries the held packets again; returns the number taken. */
static unsigned send_held(struct trial *t, uint64_t now)
{
	struct sender *s = &t->sender;
	unsigned sent = 0;
	for (unsigned i = 0; i < t->outlet_count; i++) {
		struct outlet *o = &t->outlets[i];
		if (o->held_count == 0)
			continue;
		/* A port that stays full must not delay the next phase. */
		if (now < (o->held_measured ? stop_ticks(t, o->holder) : t->measured_ticks))
			sent += commit_held(t, o);
		else
			drop_held(t, o);
		s->holding -= o->held_count == 0;
	}
	return sent;
}

/* The place of the stream that is due first of those whose port has room; stream_count: none. */
static unsigned first_with_room(const struct trial *t)
{
	unsigned first = t->stream_count;
	for (unsigned i = 0; i < t->stream_count; i++) {
		const struct stream *m = t->sender.order[i];
		if (m->outlet->held_count == 0 &&
		    (first == t->stream_count || m->due_ticks < t->sender.order[first]->due_ticks))
			first = i;
	}
	return first;
}

/* Sends what is due of the stream at `at`, before any other stream's. */
static unsigned send_due(struct trial *t, unsigned at, uint64_t now)
{
	struct stream *m = t->sender.order[at];
	struct outlet *o = m->outlet;
	uint64_t rival = rival_due(t, at);
	unsigned room = o->port->ops->tx_acquire(o->port, o->held, o->port->burst);
	unsigned count = 0;
	o->holder = m;
	o->held_measured = m->measured; /* head_is_due has just looked */
	o->held_id = m->id;
	while (count < room && head_is_due(t, m, now) && m->measured == o->held_measured &&
	       m->due_ticks <= rival) {
		o->held[count].flow = m->flow;
		o->held_due[count] = asap(m) ? now : m->due_ticks;
		count++;
		advance(t, m);
	}
	if (count < room)
		o->port->ops->tx_release(o->port, o->held + count, room - count);
	/* Streams without a rate take turns. */
	if (asap(m) && m->due_ticks != UINT64_MAX && t->stream_count > 1)
		m->due_ticks = now;
	o->held_from = 0;
	o->held_count = count;
	unsigned sent = count ? commit_held(t, o) : 0;
	t->sender.holding += o->held_count > 0;
	return sent;
}

unsigned sender_step(struct trial *t, uint64_t now)
{
	struct sender *s = &t->sender;
	unsigned at = 0, sent = 0;
	if (s->holding > 0) {
		sent = send_held(t, now);
		if (s->holding > 0)
			at = first_with_room(t);
	}
	if (sent == 0 && at < t->stream_count) {
		if (head_is_due(t, s->order[at], now))
			sent = send_due(t, at, now);
		settle(t, at);
	}
	s->done = s->active == 0 && s->holding == 0;
	return sent;
}

static void offer_rest(struct trial *t, struct stream *m)
{
	if (!m->measured)
		begin_phase(t, m, true);
	for (; m->schedule.due_ns < m->phase_ns; schedule_advance(&m->schedule))
		t->sender.offered.counts[m->schedule.due_ns / 1000000000u]++;
}

void sender_offer_rest(struct trial *t)
{
	/* An aborted trial offers nothing after its end. */
	for (unsigned i = 0; i < t->stream_count && !t->interrupted; i++)
		if (!asap(&t->streams[i]))
			offer_rest(t, &t->streams[i]);
}

uint64_t sender_intended(const struct trial *t, const struct stream *m)
{
	if (asap(m))
		return m->sent + m->failed;
	return schedule_count(&m->config.schedule, t->config.duration_ns);
}
