/* Lists when lost packets were due, by running through the schedules once more; see trial.h. */
#include "role/trial.h"

/* How many ids of a stream may have been sent. A sink knows only what came, and the sum that the sender
 * tells at its end. */
static uint64_t ids_sent(const struct trial *t, const struct stream *m)
{
	uint64_t intended = 0, told = atomic_load(&t->expect);
	if (t->outlet_count > 0)
		return m->measured ? m->id : 0;
	for (unsigned i = 0; i < t->stream_count; i++)
		intended += sender_intended(t, &t->streams[i]);
	return told == intended ? sender_intended(t, m) : m->seen.next;
}

static void list(struct trial *t, const struct stream *m)
{
	struct arrivals *a = t->receiver.arrivals;
	struct seen_missing missing;
	struct schedule schedule;
	uint64_t sent = ids_sent(t, m);
	if (sent <= m->seen.unique)
		return;
	/* At rate 0 packets are due when they are sent. */
	if (m->config.schedule.rate_upps == 0 || !seen_missing(&m->seen, &missing)) {
		arrivals_lost_untold(a, sent - m->seen.unique);
		return;
	}
	schedule_init(&schedule, &m->config.schedule);
	for (uint64_t id = 0; id < sent; id++, schedule_advance(&schedule))
		if (id >= m->seen.next || !seen_has(&m->seen, id))
			arrivals_lost(a, (uint32_t)id,
				      schedule.due_ns + trial_paused_ns(t, schedule.due_ns),
				      m->flags ? ARRIVALS_SIDE_B : 0);
}

void trial_list_lost(struct trial *t)
{
	for (unsigned i = 0; i < t->stream_count; i++)
		list(t, &t->streams[i]);
}
