/* How long a thread waited for its CPU; see waits.h. */
#include "role/waits.h"

#include <unistd.h>

void waits_begin(struct waits *w, const struct clock_scale *scale)
{
	*w = (struct waits){.fd = thread_runs_open(),
			    .every_ticks = clock_ns_to_ticks(scale, WAITS_EVERY_NS)};
	w->begin = w->last = thread_runs_read(w->fd);
}

void waits_add(struct waits *w, struct thread_runs now)
{
	uint64_t delay = now.delay_ns - w->last.delay_ns;
	uint64_t switches = (now.count - w->last.count) * WAITS_SWITCH_NS;
	w->waited_ns += delay > switches ? delay - switches : 0;
	w->last = now;
}

void waits_read(struct waits *w)
{
	waits_add(w, thread_runs_read(w->fd));
}

void waits_skip(struct waits *w)
{
	struct thread_runs now = thread_runs_read(w->fd);
	w->begin.count += now.count - w->last.count;
	w->begin.delay_ns += now.delay_ns - w->last.delay_ns;
	w->last = now;
}

struct thread_runs waits_end(struct waits *w)
{
	waits_read(w);
	if (w->fd >= 0)
		close(w->fd);
	return (struct thread_runs){.count = w->last.count - w->begin.count,
				    .delay_ns = w->last.delay_ns - w->begin.delay_ns};
}
