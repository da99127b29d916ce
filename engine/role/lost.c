/* Lists when lost packets were due, by running through the schedules once more; see trial.h. */
#include "role/trial.h"

/* How many ids of a stream were sent. A sink knows only what came, and the sum that the sender tells at
 * its end. */
static uint64_t ids_sent(const struct trial *t, const struct stream *m)
{
	uint64_t intended = 0, told = atomic_load(&t->expect);
	if (m->outlet && !m->measured)
		return 0;
	if (m->outlet && m->outlet->holder == m && m->outlet->held_count > 0)
		return m->outlet->held_id;
	if (m->outlet)
		return m->id;
	for (unsigned i = 0; i < t->stream_count; i++)
		intended += sender_intended(t, &t->streams[i]);
	return told == intended ? sender_intended(t, m) : m->seen.next;
}

static void list(struct trial *t, struct stream *m)
{
	struct arrivals *a = t->receiver.arrivals;
	uint64_t sent = ids_sent(t, m);
	/* At rate 0 packets are due when they are sent. */
	if (m->config.schedule.rate_upps == 0 || !seen_whole(&m->seen)) {
		arrivals_lost_untold(a, sent - m->seen.unique - m->listed_untold);
		m->listed_untold = sent - m->seen.unique;
		return;
	}
	for (; m->listed_id < sent; m->listed_id++, schedule_advance(&m->listed)) {
		uint64_t due_ns = m->listed.due_ns;
		if (m->listed_id >= m->seen.next || !seen_has(&m->seen, m->listed_id))
			arrivals_lost(a, (uint32_t)m->listed_id,
				      due_ns + trial_paused_ns(t, due_ns),
				      m->flags ? ARRIVALS_SIDE_B : 0);
	}
}

void trial_list_lost(struct trial *t, bool again)
{
	if (again)
		arrivals_found(t->receiver.arrivals);
	for (unsigned i = 0; i < t->stream_count; i++) {
		struct stream *m = &t->streams[i];
		if (again) {
			m->listed_id = m->listed_untold = 0;
			schedule_init(&m->listed, &m->config.schedule);
		}
		list(t, m);
	}
}
