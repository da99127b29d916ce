/* The gap meter on many CPUs; see watch.h. */
#include "role/watch.h"

#include "clock/clock.h"
#include "role/thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Any turn may take this long: a cache miss, or a clock read on the core's other hyperthread. */
enum { GAP_FLOOR_NS = 1000 };

/* Announces a gap of `ns` that ended now. */
static void announce(struct watch_cpu *c, uint64_t now, uint64_t ns)
{
	if (!c->notices || ns < c->notice_ns)
		return;
	struct outlier gap = {
		.rx_ticks = now,
		.latency_ns = ns,
		.id = (uint32_t)c->gaps.count,
		.rx_cpu = (uint32_t)c->cpu,
	};
	notices_put(c->notices, &gap, NOTICE_SLOWEST, &clock_global.scale);
}

static void *watch_loop(void *arg)
{
	struct watch_cpu *c = arg;
	const struct clock_scale *scale = &clock_global.scale;
	c->tid = thread_begin("nines-watch");
	thread_scheduling(c->scheduling, sizeof c->scheduling);
	struct thread_runs begin = thread_runs();
	uint64_t now = clock_ticks();
	c->begin_ticks = now;
	gaps_begin(&c->gaps, now);
	while (!atomic_load_explicit(c->stop, memory_order_relaxed)) {
		uint64_t before = now, gaps = c->gaps.count;
		now = clock_ticks();
		gaps_turn(&c->gaps, now, 0, 0);
		if (__builtin_expect(c->gaps.count != gaps, 0)) {
			uint64_t ns = clock_ticks_to_ns(scale, now - before);
			histogram_record(&c->lengths, ns);
			announce(c, now, ns);
			/* Leaves out the time that the recording itself took. */
			now = clock_ticks();
			gaps_begin(&c->gaps, now);
		}
	}
	c->end_ticks = now;
	c->run_delay_ns = thread_runs_since(begin).delay_ns;
	return NULL;
}

static int start_one(struct watch *w, const struct watch_config *config, char *error, size_t size)
{
	struct watch_cpu *c = &w->cpus[w->count];
	c->cpu = config->cpus[w->count];
	c->stop = &w->stop;
	c->notice_ns = config->notice_ns;
	gaps_init(&c->gaps, clock_ns_to_ticks(&clock_global.scale, GAP_FLOOR_NS));
	histogram_clear(&c->lengths); /* this also faults in its pages */
	if (config->notices && notices_new(&c->notices, config->notices)) {
		snprintf(error, size, "out of memory");
		return -ENOMEM;
	}
	int err = thread_start(&c->thread, c->cpu, watch_loop, c, error, size);
	if (err)
		notices_free(c->notices);
	return err;
}

int watch_start(struct watch **out, const struct watch_config *config, char *error, size_t size)
{
	struct watch *w = calloc(1, sizeof *w);
	if (w)
		w->cpus = calloc(config->count, sizeof *w->cpus);
	if (!w || !w->cpus) {
		free(w);
		snprintf(error, size, "out of memory");
		return -ENOMEM;
	}
	for (; w->count < config->count; w->count++) {
		int err = start_one(w, config, error, size);
		if (err) {
			watch_stop(w);
			watch_free(w);
			return err;
		}
	}
	*out = w;
	return 0;
}

void watch_stop(struct watch *w)
{
	atomic_store(&w->stop, true);
	for (unsigned i = 0; i < w->count; i++) {
		pthread_join(w->cpus[i].thread, NULL);
		gaps_sort(&w->cpus[i].gaps);
	}
}

void watch_free(struct watch *w)
{
	for (unsigned i = 0; i < w->count; i++)
		notices_free(w->cpus[i].notices);
	free(w->cpus);
	free(w);
}
