// SPDX-License-Identifier: Apache-2.0
/*
 * Polling by epoll, with parameters for each epoll set (EPIOCSPARAMS, Linux 6.9;
 * fs/eventpoll.c). An epoll set polls the NAPI instance by which one of its sockets last
 * received. So it needs such a socket: an otherwise unused UDP socket in the polled
 * namespace, which gets a packet from the other end of the veth pair (feed.c).
 *
 * epoll_wait(2) holds the instance until its time is over, and continues after others had
 * the CPU (napi_busy_loop in net/core/dev.c; no NAPI_F_END_ON_RESCHED). Meanwhile it
 * handles no signal, not even SIGKILL, so slices are short. After a slice without an event
 * the set has forgotten the instance (ep_busy_loop), and learns it again when the socket is
 * removed and added.
 *
 * Between slices, and while others have the CPU, the device raises interrupts as usual,
 * which threaded NAPI handles. Once such a thread is scheduled to poll an instance
 * (NAPI_STATE_SCHED) the poller cannot have it before that thread has run. So the thread
 * must have the higher priority; the watchdog checks that it runs (--thread).
 */
#define _GNU_SOURCE
#include "poller.h"
#include "watchdog.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* include/uapi/linux/eventpoll.h of 6.9; distributions' headers are older. */
struct epoll_busy {
	uint32_t busy_poll_usecs;
	uint16_t busy_poll_budget;
	uint8_t prefer_busy_poll;
	uint8_t pad;
};
#define EPOLL_SET_BUSY _IOW(0x8A, 0x01, struct epoll_busy)

#define SLICE_US     20000 /* for the only instance of a thread */
#define SHORT_US     100 /* for one of several instances, or to see whether packets arrive */
#define BUDGET	     8 /* the kernel's default for busy polling; more needs CAP_NET_ADMIN */
#define QUIET_SLICES 20
#define FIRST_NAP_NS 2000

struct epoll_poller {
	int sets[POLLER_MAX_NAPIS];
	int sockets[POLLER_MAX_NAPIS];
	int used;
	int cpu;
	const char *scheduling;
	uint64_t longest_ns;
	struct statistics_thread *statistics;
	struct watchdog watchdog;
	uint64_t back_at_ns;
	uint64_t stopped_ns;
	atomic_bool paused;
	atomic_int failed; /* -1: not yet known */
};

static struct epoll_poller pollers[STATISTICS_THREADS];
static int pollers_used;

static int epoll__add(struct epoll_poller *poller, int socket, uint32_t usecs)
{
	struct epoll_busy busy = {
		.busy_poll_usecs = usecs, .busy_poll_budget = BUDGET, .prefer_busy_poll = 1};
	int set = epoll_create1(EPOLL_CLOEXEC);

	if (set < 0 || ioctl(set, EPOLL_SET_BUSY, &busy) < 0)
		return -errno;
	poller->sets[poller->used] = set;
	poller->sockets[poller->used++] = socket;
	return 0;
}

static void epoll__slice(int set, int socket)
{
	/* Errors only: packets to the socket must not end the slice. */
	struct epoll_event event = {.events = 0};

	epoll_ctl(set, EPOLL_CTL_DEL, socket, NULL);
	epoll_ctl(set, EPOLL_CTL_ADD, socket, &event);
	/* It polls first; the timeout is over by then, so that it does not sleep. */
	epoll_wait(set, &event, 1, 1);
}

static void epoll__nap(struct epoll_poller *poller, uint64_t ns)
{
	const struct timespec nap = {.tv_sec = (time_t)(ns / 1000000000u),
				     .tv_nsec = (long)(ns % 1000000000u)};
	uint64_t begun = statistics__now();

	nanosleep(&nap, NULL);
	poller->statistics->slept_ns += statistics__now() - begun;
}

static void epoll__poll_adaptively(struct epoll_poller *poller)
{
	uint64_t last = device__packets();
	uint64_t nap = FIRST_NAP_NS;

	for (int quiet = 0;; quiet++) {
		uint64_t packets;

		if (atomic_load(&poller->paused))
			return;
		for (int i = 0; i < poller->used; i++)
			epoll__slice(poller->sets[i], poller->sockets[i]);
		poller->statistics->slices++;
		packets = device__packets();
		poller->statistics->packets += packets - last;
		if (packets != last) {
			quiet = 0;
			nap = FIRST_NAP_NS;
			poller->statistics->state = STATISTICS_POLLING;
		} else if (quiet >= QUIET_SLICES) {
			poller->statistics->state = STATISTICS_SLEEPING;
			poller->statistics->naps++;
			epoll__nap(poller, nap);
			nap = nap * 2 < poller->longest_ns ? nap * 2 : poller->longest_ns;
		}
		last = packets;
	}
}

static void *epoll__thread(void *argument)
{
	struct epoll_poller *poller = argument;
	int failed = 0;

	poller->statistics->tid = (uint64_t)gettid();
	prctl(PR_SET_NAME, "nines-poll");
	prctl(PR_SET_TIMERSLACK, 1ul);
	if (thread__pin(0, poller->cpu) < 0 || scheduling__set(0, poller->scheduling) < 0)
		failed = errno;
	poller->statistics->state = STATISTICS_POLLING;
	atomic_store(&poller->failed, failed);
	for (;;) { /* until the process ends */
		if (atomic_load(&poller->paused)) {
			usleep(POLLER_TICK_NS / 1000);
			continue;
		}
		if (poller->longest_ns > 0) {
			epoll__poll_adaptively(poller);
			continue;
		}
		for (int i = 0; i < poller->used; i++)
			epoll__slice(poller->sets[i], poller->sockets[i]);
		poller->statistics->slices++;
	}
	return NULL;
}

static int epoll__start(struct epoll_poller *poller, struct statistics *statistics)
{
	pthread_t thread;

	poller->statistics = &statistics->thread[statistics->threads];
	*poller->statistics = (struct statistics_thread){
		.cpu = (uint64_t)poller->cpu,
		.packets = poller->longest_ns > 0 ? 0 : STATISTICS_UNKNOWN,
	};
	atomic_store(&poller->failed, -1);
	errno = pthread_create(&thread, NULL, epoll__thread, poller);
	if (errno != 0)
		return poller__fail("start", "a thread");
	while (atomic_load(&poller->failed) < 0)
		usleep(100);
	errno = atomic_load(&poller->failed);
	if (errno != 0)
		return poller__fail("schedule as", poller->scheduling);
	statistics->threads++;
	return 0;
}

/* Backs off, and resumes after the pause. */
static void epoll__watch(struct epoll_poller *poller, uint64_t now)
{
	uint64_t pause;

	if (poller->back_at_ns != 0) {
		if (now < poller->back_at_ns)
			return;
		poller->statistics->backed_off_ns += now - poller->stopped_ns;
		poller->back_at_ns = 0;
		poller->statistics->state = STATISTICS_POLLING;
		atomic_store(&poller->paused, false);
		return;
	}
	if (poller->statistics->state == STATISTICS_SLEEPING)
		return;
	pause = watchdog__bites(&poller->watchdog, poller->statistics, now, POLLER_TICK_NS);
	if (pause == 0)
		return;
	atomic_store(&poller->paused, true);
	poller->statistics->state = STATISTICS_BACKED_OFF;
	poller->statistics->back_offs++;
	poller->back_at_ns = now + pause;
	poller->stopped_ns = now;
}

int epoll__main(const struct options *options, struct statistics *statistics)
{
	int sockets[POLLER_MAX_NAPIS];
	bool many = options->napis > options->cpus || options->longest_us > 0;
	int failed = feed__sockets(options, sockets);

	if (failed != 0)
		return failed;
	for (int i = 0; i < options->napis; i++) {
		struct epoll_poller *poller = &pollers[i % options->cpus];

		failed = epoll__add(poller, sockets[i], many ? SHORT_US : SLICE_US);
		if (failed < 0) {
			errno = -failed;
			poller__fail("poll by", "epoll");
			return failed == -ENOTTY || failed == -EINVAL ? POLLER_EXIT_LACKS
								      : POLLER_EXIT_FAILED;
		}
	}
	for (int i = 0; i < options->cpus && i < options->napis; i++) {
		pollers[i].cpu = options->cpu[i];
		pollers[i].scheduling = options->scheduling;
		pollers[i].longest_ns = (uint64_t)options->longest_us * 1000;
		watchdog__start(&pollers[i].watchdog, pollers[i].cpu);
		for (int j = 0; j < options->threads; j++)
			if (options->thread[j].cpu == pollers[i].cpu)
				watchdog__heed(&pollers[i].watchdog, options->thread[j].tid);
		failed = epoll__start(&pollers[i], statistics);
		if (failed != 0)
			return failed;
		pollers_used++;
	}
	if (thread__step_aside(options) < 0)
		return poller__fail("schedule above", options->scheduling);
	if (poller__ready() < 0)
		return POLLER_EXIT_FAILED;
	do {
		bool stale;

		statistics__update(statistics);
		stale = stale__look(options, statistics);
		for (int i = 0; i < pollers_used; i++)
			if (stale)
				atomic_store(&pollers[i].paused, true);
			else
				epoll__watch(&pollers[i], statistics__now());
	} while (watch__tick(options->netns));
	return 0;
}
