// SPDX-License-Identifier: Apache-2.0
/*
 * nines-poller polls network devices in place of their interrupts:
 *
 *   nines-poller poll --napi ID... --cpus LIST    polls NAPI instances until SIGTERM
 *   nines-poller awake --cpus LIST                keeps CPUs from going idle
 *   nines-poller guard --thread TID@CPU... --cpus LIST
 *                                                 watches the kernel's own polling threads
 *
 * It prints "ok" to standard output once it runs, or ends with an error before that.
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
	"       nines-poller guard --thread TID@CPU [--thread TID@CPU]... --cpus LIST --scheduling POLICY:N OPTIONS\n"
	"options: --device NAME[:NS]  what is polled: returns to interrupts, with this\n"
	"                             gro_flush_timeout, where polling does harm; repeatable\n"
	"         --longest USEC      sleep when nothing comes, up to so long; needs --device\n"
	"         --mechanism NAME    io_uring or epoll\n"
	"         --feed NETNS:NAME   the other end of a veth that is polled, for epoll; repeatable\n"
	"         --thread TID@CPU    for epoll: a kernel's thread that the poller of that CPU must\n"
	"                             leave its turn; repeatable\n"
	"         --statistics FILE   a file that it keeps its counters in\n"
	"         --netns PATH        end when this is another network namespace, or gone\n"
	"         --cgroup FILE       join the group of this cgroup.procs first; repeatable\n"
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

static const struct {
	const char *name;
	int (*main)(const struct options *options);
} roles[] = {{"poll", poll__main}, {"awake", awake__main}, {"guard", guard__main}};

int main(int argc, char **argv)
{
	int (*role)(const struct options *options) = NULL;
	struct options options;

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		fputs(usage, stdout);
		return 0;
	}
	if (argc >= 2)
		for (unsigned i = 0; i < sizeof roles / sizeof *roles; i++)
			if (strcmp(argv[1], roles[i].name) == 0)
				role = roles[i].main;
	if (role == NULL) {
		fputs(usage, stderr);
		return POLLER_EXIT_USAGE;
	}
	if (options__parse(&options, argc - 2, argv + 2) < 0)
		return POLLER_EXIT_USAGE;
	/* First, because the group decides which CPUs may be used. */
	for (int i = 0; i < options.cgroups; i++)
		if (thread__join(options.cgroup[i]) < 0)
			return poller__fail("join", options.cgroup[i]);
	if (watch__start(options.netns) < 0)
		return poller__fail("find the network namespace", options.netns);
	return role(&options);
}
