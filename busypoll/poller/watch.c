// SPDX-License-Identifier: Apache-2.0
/*
 * Notices when it is time to end: on a signal, or when the polled namespace is gone. Its
 * path, /proc/PID/ns/net or a name below /run/netns, then no longer exists, or leads to
 * another namespace. An open file of the namespace would not show that, and would keep its
 * devices alive.
 */
#define _GNU_SOURCE
#include "poller.h"

#include <signal.h>
#include <sys/stat.h>
#include <time.h>

static struct stat watch;
static sigset_t ends;

int watch__start(const char *netns)
{
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	return netns == NULL ? 0 : stat(netns, &watch);
}

static bool watch__gone(const char *netns)
{
	struct stat now;

	if (netns == NULL)
		return false;
	return stat(netns, &now) < 0 || now.st_ino != watch.st_ino || now.st_dev != watch.st_dev;
}

bool watch__tick(const char *netns)
{
	const struct timespec tick = {.tv_nsec = POLLER_TICK_NS};

	return !watch__gone(netns) && sigtimedwait(&ends, NULL, &tick) < 0;
}
