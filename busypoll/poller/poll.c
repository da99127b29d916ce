// SPDX-License-Identifier: Apache-2.0
/*
 * Polls by rings of io_uring, one on each CPU. The main thread avoids these CPUs if there
 * are others; every tick it updates the statistics and asks the watchdog.
 *
 * Adaptive polling has a second thread on each CPU, the napper. While packets arrive, the
 * kernel's thread polls, and the napper reads the devices' counters every half millisecond
 * and keeps the kernel's thread awake. When no packets have come for a while, it lets that
 * thread sleep and polls itself: once, then a nap, twice as long each time up to the
 * longest, until a packet arrives.
 */
#define _GNU_SOURCE
#include "ring.h"
#include "watchdog.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* As long as possible; the kernel converts it to ticks of 32 bits. */
#define FOREVER_MS 1000000000u
/* An adaptive ring's thread sleeps after this time: some ticks of the kernel. */
#define ADAPTIVE_MS  12u
#define LOOK_NS	     500000
#define QUIET_LOOKS  4
#define FIRST_NAP_NS 2000

struct poller {
	struct share share;
	struct ring ring;
	struct watchdog watchdog;
	struct statistics_thread *statistics;
	struct statistics_thread *napper; /* NULL: not adaptive */
	uint64_t longest_ns;
	uint64_t back_at_ns; /* 0: polling */
	uint64_t stopped_ns;
	int plain;
	atomic_bool paused;
	atomic_bool over; /* tells the napper to end */
	/* Held while the ring is used or stopped, because the napper and the main thread
	 * may do both at once. */
	pthread_mutex_t using;
};

static struct poller pollers[STATISTICS_THREADS / 2];
static int pollers_used;

/* Keeps the ring's thread awake, if there is one. */
static void poll__keep(struct poller *poller)
{
	pthread_mutex_lock(&poller->using);
	if (!atomic_load(&poller->paused))
		ring__keep(&poller->ring);
	pthread_mutex_unlock(&poller->using);
}

static int poll__fail(int error)
{
	errno = -error;
	poller__fail("poll by", "io_uring");
	return error == -EINVAL || error == -ENOSYS ? POLLER_EXIT_LACKS : POLLER_EXIT_FAILED;
}

static int poll__start_ring(struct poller *poller)
{
	int failed = ring__start(&poller->ring, &poller->share,
				 poller->napper == NULL ? FOREVER_MS : ADAPTIVE_MS);

	if (failed < 0)
		return failed;
	poller->statistics->tid = (uint64_t)poller->ring.tid;
	poller->statistics->state = STATISTICS_POLLING;
	return 0;
}

static void poll__nap(uint64_t ns)
{
	const struct timespec nap = {.tv_sec = (time_t)(ns / 1000000000u),
				     .tv_nsec = (long)(ns % 1000000000u)};

	nanosleep(&nap, NULL);
}

/* Returns when no packet has come for some looks; last is the counter's value then. */
static uint64_t poll__while_busy(struct poller *poller, uint64_t last)
{
	for (int quiet = 0; quiet < QUIET_LOOKS && !atomic_load(&poller->over);) {
		uint64_t packets;

		poll__nap(LOOK_NS);
		packets = device__packets();
		quiet = packets == last ? quiet + 1 : 0;
		if (packets != last)
			poll__keep(poller);
		poller->napper->packets += packets - last;
		last = packets;
	}
	return last;
}

/* Returns when a packet has come. */
static void poll__while_idle(struct poller *poller, uint64_t last)
{
	uint64_t nap = FIRST_NAP_NS;

	poller->napper->state = STATISTICS_SLEEPING;
	if (!atomic_load(&poller->paused))
		poller->statistics->state = STATISTICS_SLEEPING;
	while (device__packets() == last && !atomic_load(&poller->over)) {
		uint64_t begun = statistics__now();

		poll__nap(nap);
		poller->napper->slept_ns += statistics__now() - begun;
		poller->napper->naps++;
		if (!atomic_load(&poller->paused))
			ring__poll(poller->plain);
		poller->napper->slices++;
		nap = nap * 2 < poller->longest_ns ? nap * 2 : poller->longest_ns;
	}
	poller->napper->state = STATISTICS_POLLING;
	if (!atomic_load(&poller->paused))
		poller->statistics->state = STATISTICS_POLLING;
}

static void *poll__napper(void *argument)
{
	struct poller *poller = argument;
	uint64_t last;

	poller->napper->tid = (uint64_t)gettid();
	/* Makes sleeps exact; by default they may take 50 us longer. */
	prctl(PR_SET_TIMERSLACK, 1ul);
	if (thread__pin(0, poller->share.cpu) < 0 ||
	    scheduling__set(0, poller->share.scheduling) < 0)
		poller__fail("place the thread that naps on", "its CPU");
	last = device__packets();
	while (!atomic_load(&poller->over)) {
		last = poll__while_busy(poller, last);
		poll__while_idle(poller, last);
		poll__keep(poller);
	}
	return NULL;
}

static int poll__start(struct poller *poller, const struct options *options,
		       struct statistics *statistics)
{
	pthread_t thread;
	int failed;

	poller->statistics = &statistics->thread[statistics->threads];
	*poller->statistics = (struct statistics_thread){
		.cpu = (uint64_t)poller->share.cpu,
		.slices = STATISTICS_UNKNOWN,
		.packets = STATISTICS_UNKNOWN,
	};
	if (options->longest_us > 0) {
		poller->napper = poller->statistics + 1;
		poller->longest_ns = (uint64_t)options->longest_us * 1000;
		*poller->napper = (struct statistics_thread){.cpu = (uint64_t)poller->share.cpu,
							     .state = STATISTICS_POLLING};
	}
	watchdog__start(&poller->watchdog, poller->share.cpu);
	errno = pthread_mutex_init(&poller->using, NULL);
	if (errno != 0)
		return poller__fail("make", "a lock");
	failed = poll__start_ring(poller);
	if (failed < 0)
		return poll__fail(failed);
	statistics->threads++;
	if (poller->napper == NULL)
		return 0;
	poller->plain = ring__plain(&poller->share);
	if (poller->plain < 0)
		return poll__fail(poller->plain);
	errno = pthread_create(&thread, NULL, poll__napper, poller);
	if (errno != 0)
		return poller__fail("start", "a thread");
	statistics->threads++;
	return 0;
}

/* Stops a ring unless its napper is using it. The napper may not get the CPU for long, so
 * this does not wait for it. */
static void poll__stop_ring(struct poller *poller)
{
	if (poller->ring.fd < 0 || pthread_mutex_trylock(&poller->using) != 0)
		return;
	ring__stop(&poller->ring);
	pthread_mutex_unlock(&poller->using);
}

static bool poll__one_is_away(void)
{
	for (int i = 0; i < pollers_used; i++)
		if (pollers[i].back_at_ns != 0)
			return true;
	return false;
}

/* Backs off, and resumes after the pause. */
static void poll__watch(struct poller *poller, uint64_t now)
{
	uint64_t pause;

	if (poller->back_at_ns == 0) {
		/* A sleeping adaptive thread is not starved. */
		if (poller->napper != NULL && poller->napper->state == STATISTICS_SLEEPING)
			return;
		pause = watchdog__bites(&poller->watchdog, poller->statistics, now, POLLER_TICK_NS);
		if (pause == 0)
			return;
		atomic_store(&poller->paused, true);
		device__give(true);
		poll__stop_ring(poller);
		poller->statistics->state = STATISTICS_BACKED_OFF;
		poller->statistics->back_offs++;
		poller->back_at_ns = now + pause;
		poller->stopped_ns = now;
		return;
	}
	poll__stop_ring(poller);
	if (now < poller->back_at_ns || poller->ring.fd >= 0 || poll__start_ring(poller) < 0)
		return; /* the next tick tries again */
	poller->statistics->backed_off_ns += now - poller->stopped_ns;
	poller->back_at_ns = 0;
	atomic_store(&poller->paused, false);
	/* All pollers share the devices. */
	if (!poll__one_is_away())
		device__give(false);
}

/* Ends polling, for good. */
static void poll__leave(struct poller *poller)
{
	atomic_store(&poller->paused, true);
	atomic_store(&poller->over, true);
	poll__stop_ring(poller); /* otherwise with the next tick */
}

int poll__main(const struct options *options)
{
	struct statistics *statistics = statistics__open(options->statistics, options->mechanism);
	bool stale;
	int failed;

	if (statistics == NULL)
		return poller__fail("map", options->statistics);
	if (options->napis == 0) {
		fputs("nines-poller: --napi is missing: what to poll\n", stderr);
		return POLLER_EXIT_USAGE;
	}
	if (options->longest_us > 0 && options->devices == 0) {
		fputs("nines-poller: --longest needs --device: whose packets to watch\n", stderr);
		return POLLER_EXIT_USAGE;
	}
	failed = device__open(options);
	if (failed != 0)
		return failed;
	if (strcmp(options->mechanism, "epoll") == 0)
		return epoll__main(options, statistics);
	for (int i = 0; i < options->cpus && i < options->napis; i++) {
		struct poller *poller = &pollers[pollers_used++];

		poller->share.cpu = options->cpu[i];
		poller->share.scheduling = options->scheduling;
		for (int j = i; j < options->napis; j += options->cpus)
			poller->share.napi[poller->share.napis++] = options->napi[j];
		failed = poll__start(poller, options, statistics);
		if (failed != 0)
			return failed;
	}
	if (thread__step_aside(options) < 0)
		return poller__fail("schedule above", options->scheduling);
	if (poller__ready() < 0)
		return POLLER_EXIT_FAILED;
	do {
		uint64_t now = statistics__now();

		statistics__update(statistics);
		stale = stale__look(options, statistics);
		for (int i = 0; i < pollers_used; i++) {
			if (stale) {
				poll__leave(&pollers[i]);
				continue;
			}
			poll__watch(&pollers[i], now);
			if (pollers[i].napper == NULL && pollers[i].back_at_ns == 0)
				ring__keep(&pollers[i].ring);
		}
	} while (watch__tick(options->netns));
	device__give(true);
	return 0;
}
