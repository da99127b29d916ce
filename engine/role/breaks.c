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

void trial_resume(struct trial *t, uint64_t from, uint64_t now)
{
	uint64_t ticks = now - from;
	t->pauses[t->pause_count++] = (struct trial_pause){from, ticks};
	t->measured_end_ticks += ticks;
	t->drain_end_ticks += ticks;
	if (t->outlet_count > 0)
		sender_shift(t, ticks);
	if (t->inlet_count > 0) {
		blocks_shift(&t->receiver.blocks, ticks);
		rate_shift(&t->receiver.received, ticks);
	}
	atomic_fetch_add(&t->paused_ns, clock_ticks_to_ns(&t->scale, ticks));
}

void trial_finish(struct trial *t, uint64_t now)
{
	uint64_t ran = now - t->measured_ticks - paused_ticks(t);
	uint64_t ns = clock_ticks_to_ns(&t->scale, ran);
	t->finished_ns = ns ? ns : 1;
	/* It may have come to its end already. */
	if (t->finished_ns >= t->config.duration_ns)
		return;
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
	uint64_t before = 0;
	for (unsigned i = 0; i < t->pause_count; i++) {
		uint64_t ran = t->pauses[i].at_ticks - t->measured_ticks - before;
		if (clock_ticks_to_ns(&t->scale, ran) > due_ns)
			break;
		before += t->pauses[i].length_ticks;
	}
	return clock_ticks_to_ns(&t->scale, before);
}
