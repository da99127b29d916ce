/* Pauses of a trial, and its early end; see trial.h. The measuring thread does all of it. */
#include "role/trial.h"

bool trial_measures(const struct trial *t, uint64_t now)
{
	for (unsigned i = 0; i < t->stream_count && t->outlet_count > 0; i++)
		if (!t->streams[i].measured)
			return false;
	return now >= t->measured_ticks;
}

static uint64_t paused_ticks(const struct trial *t)
{
	uint64_t ticks = 0;
	for (unsigned i = 0; i < t->pause_count; i++)
		ticks += t->pauses[i].length_ticks;
	return ticks;
}

/* When the next packet is due in the schedule. Packets are sent in the order in which they are due. */
static uint64_t next_due_ns(const struct trial *t, uint64_t now)
{
	uint64_t due_ns = UINT64_MAX;
	if (t->outlet_count == 0)
		return clock_ticks_to_ns(&t->scale, now - t->measured_ticks - paused_ticks(t));
	for (unsigned i = 0; i < t->stream_count; i++) {
		const struct stream *m = &t->streams[i];
		if (m->due_ticks != UINT64_MAX && m->schedule.due_ns < due_ns)
			due_ns = m->schedule.due_ns;
	}
	return due_ns;
}

void trial_resume(struct trial *t, uint64_t from, uint64_t now)
{
	uint64_t ticks = now - from, due_ns = next_due_ns(t, from);
	t->pauses[t->pause_count++] = (struct trial_pause){from, ticks, due_ns};
	t->measured_end_ticks += ticks;
	t->drain_end_ticks += ticks;
	if (t->outlet_count > 0)
		sender_shift(t, ticks);
	if (t->inlet_count > 0) {
		blocks_shift(&t->receiver.blocks, ticks);
		rate_shift(&t->receiver.received, ticks);
	}
	if (t->receiver.arrivals)
		t->receiver.arrivals->header->paused_ticks += ticks;
	atomic_fetch_add(&t->paused_ns, clock_ticks_to_ns(&t->scale, ticks));
}

void trial_finish(struct trial *t, uint64_t now)
{
	uint64_t ran = now - t->measured_ticks - paused_ticks(t);
	uint64_t ns = clock_ticks_to_ns(&t->scale, ran);
	/* It may have come to its end already. */
	if (ns >= t->config.duration_ns)
		return;
	t->finished_ns = ns ? ns : 1;
	t->config.duration_ns = t->finished_ns;
	t->measured_end_ticks = now;
	t->drain_end_ticks = now + clock_ns_to_ticks(&t->scale, t->config.drain_ns);
	if (t->outlet_count > 0)
		sender_cut(t, now);
	if (t->inlet_count > 0)
		blocks_cut(&t->receiver.blocks, now);
}

uint64_t trial_paused_ns(const struct trial *t, uint64_t due_ns)
{
	uint64_t ticks = 0;
	for (unsigned i = 0; i < t->pause_count && t->pauses[i].due_ns <= due_ns; i++)
		ticks += t->pauses[i].length_ticks;
	return clock_ticks_to_ns(&t->scale, ticks);
}
