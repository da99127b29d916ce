// SPDX-License-Identifier: Apache-2.0
/*
 * nines-poller polls network devices in place of their interrupts:
 *
 *   nines-poller poll --napi ID... --cpus LIST    polls NAPI instances until SIGTERM
 *   nines-poller awake --cpus LIST                keeps CPUs from going idle
 *
 * It says "ok" on standard output once it does, and ends with what is wrong before.
 */
#define _GNU_SOURCE
#include "poller.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
	"usage: nines-poller poll --napi ID [--napi ID]... --cpus LIST [--scheduling POLICY:N] OPTIONS\n"
	"       nines-poller awake --cpus LIST OPTIONS\n"
	"options: --statistics FILE   a file that it keeps its counters in\n"
	"         --netns PATH        end when this is another network namespace, or gone\n"
	"         --cgroup FILE       join the group of this cgroup.procs first; may be repeated\n"
	"         --token TOKEN       nothing: others find the process by it\n";

int poller__fail(const char *what, const char *which)
{
	fprintf(stderr, "nines-poller: %s %s: %s\n", what, which, strerror(errno));
	return POLLER_EXIT_FAILED;
}

int poller__ready(void)
{
	if (write(STDOUT_FILENO, "ok\n", 3) != 3)
		return -1;
	close(STDOUT_FILENO);
	return 0;
}

/* The i-th of n rings gets every n-th instance. */
static int poll__share(const struct options *options, int i, unsigned *share)
{
	int napis = 0;

	for (int j = i; j < options->napis; j += options->cpus)
		share[napis++] = options->napi[j];
	return napis;
}

static int poll__main(const struct options *options)
{
	struct statistics *statistics = statistics__open(options->statistics, options->mechanism);
	const char *scheduling = options->scheduling == NULL ? "idle:0" : options->scheduling;
	const struct timespec period = {.tv_nsec = 100000000};
	int rings[STATISTICS_THREADS];
	int used = 0;
	sigset_t end;

	if (statistics == NULL)
		return poller__fail("map", options->statistics);
	if (options->napis == 0) {
		fputs("nines-poller: --napi is missing: what to poll\n", stderr);
		return POLLER_EXIT_USAGE;
	}
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	sigprocmask(SIG_BLOCK, &end, NULL);
	for (; used < options->cpus && used < options->napis; used++) {
		struct statistics_thread *thread = &statistics->thread[used];
		unsigned share[POLLER_MAX_NAPIS];
		int napis = poll__share(options, used, share);
		int tid = ring__start(share, napis, options->cpu[used], &rings[used]);

		if (tid < 0) {
			errno = -tid;
			poller__fail("poll by", "io_uring");
			return tid == -EINVAL || tid == -ENOSYS ? POLLER_EXIT_LACKS
								: POLLER_EXIT_FAILED;
		}
		if (thread__schedule(tid, scheduling) < 0)
			return poller__fail("schedule as", scheduling);
		*thread = (struct statistics_thread){
			.tid = (uint64_t)tid,
			.cpu = (uint64_t)options->cpu[used],
			.state = STATISTICS_POLLING,
			.slices = STATISTICS_UNKNOWN,
			.packets = STATISTICS_UNKNOWN,
		};
		statistics->threads = (uint64_t)used + 1;
	}
	if (poller__ready() < 0)
		return POLLER_EXIT_FAILED;
	do {
		/* Also where the thread was not asleep yet when it was first woken. */
		for (int i = 0; i < used; i++)
			ring__wake(rings[i]);
		statistics__update(statistics);
	} while (!watch__gone(options->netns) && sigtimedwait(&end, NULL, &period) < 0);
	return 0;
}

int main(int argc, char **argv)
{
	struct options options;

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		fputs(usage, stdout);
		return 0;
	}
	if (argc < 2 || (strcmp(argv[1], "poll") != 0 && strcmp(argv[1], "awake") != 0)) {
		fputs(usage, stderr);
		return POLLER_EXIT_USAGE;
	}
	if (options__parse(&options, argc - 2, argv + 2) < 0)
		return POLLER_EXIT_USAGE;
	/* First, as a group decides which CPUs may be used. */
	for (int i = 0; i < options.cgroups; i++)
		if (thread__join(options.cgroup[i]) < 0)
			return poller__fail("join", options.cgroup[i]);
	if (watch__start(options.netns) < 0)
		return poller__fail("find the network namespace", options.netns);
	return strcmp(argv[1], "poll") == 0 ? poll__main(&options) : awake__main(&options);
}
