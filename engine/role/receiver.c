/*
 * The receiving half of a trial.
 *
 *   rx_burst -> stamp -> check -> which stream? -> seen? -> histograms, arrivals, worst, sample, record
 *            -> rx_release
 *
 * All of this runs on the measuring thread. The packets of a burst share a stamp: the time when the
 * application got them.
 */
#include "packet/trailer.h"
#include "role/trial.h"

/* The stamp of a packet that something was put into, before the first one. */
static __attribute__((noinline)) bool second_stamp(const struct port *port, const struct packet *p,
						   struct payload *out)
{
	if (port->ops->layer == PORT_FRAME)
		return trailer_find(p->data, p->length, out) >= 0;
	return trailer_read(p->data, p->length, out);
}

static inline enum frame_verdict parse(const struct port *port, const struct packet *p,
				       struct payload *out)
{
	const uint8_t *data = p->data;
	uint32_t length = p->length;
	if (port->ops->layer == PORT_FRAME) {
		enum frame_verdict verdict =
			frame_check(data, length, port->config.udp_port, port->accepts_partial);
		if (verdict != FRAME_GOOD)
			return verdict;
		uint32_t headers = frame_headers(frame_is_ip6(data));
		data += headers;
		length -= headers;
	}
	if (__builtin_expect(payload_read(data, length, out), 1))
		return FRAME_GOOD;
	return second_stamp(port, p, out) ? FRAME_GOOD : FRAME_DAMAGED;
}

enum { ARRIVALS_SIDE_SHIFT = 30 };
_Static_assert((uint32_t)PAYLOAD_SIDE_B << ARRIVALS_SIDE_SHIFT == ARRIVALS_SIDE_B,
	       "a row's mark is the payload's flag");
_Static_assert((unsigned)PORT_BURST <= (unsigned)ARRIVALS_BURST, "a burst has room");

/* Counts a packet that no engine sent. Kernel ports filter such packets out
 * before, by a program of their own. */
static __attribute__((noinline)) void refuse(struct receiver *r, const struct inlet *inlet,
					     enum frame_verdict verdict)
{
	if (verdict == FRAME_FOREIGN && inlet->foreign)
		port_count(inlet->foreign, 1);
	else
		r->invalid++;
}

/* The stream of a packet; NULL if it is none of this port's. */
static inline struct stream *stream_of(const struct trial *t, const struct inlet *inlet,
				       const struct payload *p)
{
	if (p->stream >= t->stream_count)
		return NULL;
	struct stream *m = &t->streams[p->stream];
	return m->inlet == inlet ? m : NULL;
}

/* What receiver_step knows about a packet. */
struct received {
	const struct payload *payload;
	uint64_t latency_ns, from_tx_ns, poll_gap_ns, ticks;
	uint32_t cpu;
};

/* Keeps a packet that is one of the slowest or was picked at random: rare, and rarer the longer a
 * trial lasts. */
static __attribute__((noinline)) void keep(struct trial *t, const struct received *p, bool slow,
					   bool picked)
{
	struct receiver *r = &t->receiver;
	struct outlier o = {
		.latency_ns = p->latency_ns,
		.from_tx_ns = p->from_tx_ns,
		.send_lag_ns = p->payload->send_lag_ns,
		.poll_gap_ns = p->poll_gap_ns,
		.tx_ticks = p->payload->tx_ticks,
		.rx_ticks = p->ticks,
		.id = p->payload->id,
		.rx_cpu = p->cpu,
		.stream = p->payload->stream,
	};
	if (slow) {
		worst_insert(&r->worst, &o);
		if (r->notices)
			notices_put(r->notices, &o, NOTICE_SLOWEST, &t->scale);
	}
	if (picked) {
		uint32_t place = sample_keep(&r->sample, &o);
		if (r->notices)
			notices_put(r->notices, &o, place, &t->scale);
	}
}

/* What the counter of the sender's machine is when this one's has these ticks, and the reverse. */
static uint64_t their_ticks(const struct trial *t, uint64_t ticks)
{
	return clock_at_ticks(&t->config.sender_scale, clock_at_ns(&t->scale, ticks));
}

static uint64_t own_ticks(const struct trial *t, uint64_t ticks)
{
	return clock_at_ticks(&t->scale, clock_at_ns(&t->config.sender_scale, ticks));
}

unsigned receiver_step(struct trial *t, struct inlet *inlet, uint64_t begun)
{
	struct receiver *r = &t->receiver;
	struct packet burst[PORT_BURST];
	uint32_t cpu, unique = 0;
	uint64_t before = inlet->look_ticks;
	inlet->look_ticks = begun;
	unsigned count = port_rx_burst(inlet->port, burst, PORT_BURST);
	uint64_t now = clock_ticks_on(&cpu);
	/* The previous look may have missed them from its very beginning: an empty one in which the
	 * CPU was taken away looked before that. */
	uint64_t poll_gap = clock_ticks_to_ns(&t->scale, now - before);
	/* What the counter that made the stamps shows now. */
	uint64_t their_now = __builtin_expect(t->config.foreign, 0) ? their_ticks(t, now) : now;
	blocks_look(&r->blocks, now);
	/* Of the burst's packets: their rows in the memory of the arrivals, and their ids. */
	uint64_t *rows = r->arrivals && count ? arrivals_begin_burst(r->arrivals, now) : NULL;
	uint32_t ids[PORT_BURST];
	for (unsigned i = 0; i < count; i++) {
		struct payload payload;
		struct stream *m = NULL;
		enum frame_verdict verdict = parse(inlet->port, &burst[i], &payload);
		if (verdict == FRAME_GOOD) {
			m = stream_of(t, inlet, &payload);
			payload.tx_ticks = payload_ticks_near(payload.tx_ticks, their_now);
			if (__builtin_expect(t->config.foreign, 0))
				payload.tx_ticks = own_ticks(t, payload.tx_ticks);
		}
		if (!m || (int64_t)(payload.tx_ticks - r->begin_ticks) < 0) {
			refuse(r, inlet, verdict);
			continue;
		}
		r->newest_ticks = payload.tx_ticks;
		if (!(payload.flags & PAYLOAD_MEASURED)) {
			m->warmup++;
			continue;
		}
		if (inlet->frames)
			ways_count(&inlet->ways, burst[i].data);
		enum seen_verdict seen = seen_record(&m->seen, payload.id);
		if (r->recorder && seen != SEEN_LATE)
			recorder_put(r->recorder, payload.id, recorder_saturate(poll_gap), now);
		if (seen >= SEEN_DUPLICATE)
			continue;
		/* The counters of two cores may differ by more than the transit time. */
		m->early += now < payload.tx_ticks;
		uint64_t ticks = now > payload.tx_ticks ? now - payload.tx_ticks : 0;
		uint64_t from_tx = clock_ticks_to_ns(&t->scale, ticks);
		uint64_t latency = from_tx + payload.send_lag_ns;
		histogram_record(r->blocks.now, latency);
		if (rows) {
			rows[unique] =
				arrivals_row(latency, (uint32_t)(payload.flags & PAYLOAD_SIDE_B)
							      << ARRIVALS_SIDE_SHIFT);
			ids[unique] = payload.id;
		}
		if (__builtin_expect(m->latency != NULL, 0))
			histogram_record(m->latency, latency);
		histogram_record(&r->from_tx, from_tx);
		/* In a loop the sender has already recorded it. */
		if (t->outlet_count == 0)
			histogram_record(&r->send_lag, payload.send_lag_ns);
		bool slow = worst_wants(&r->worst, latency);
		bool picked = sample_wants(&r->sample, r->unique + unique);
		if (__builtin_expect(slow || picked, 0)) {
			struct received p = {
				.payload = &payload,
				.latency_ns = latency,
				.from_tx_ns = from_tx,
				.poll_gap_ns = poll_gap,
				.ticks = now,
				.cpu = cpu,
			};
			keep(t, &p, slow, picked);
		}
		unique++;
	}
	if (count) {
		r->unique += unique;
		rate_count(&r->received, now, unique);
		if (r->arrivals)
			arrivals_end_burst(r->arrivals, ids, unique);
		inlet->port->ops->rx_release(inlet->port, burst, count);
	}
	return count;
}
