// SPDX-License-Identifier: Apache-2.0
/*
 * Notices that the polled namespace is gone: its path, /proc/PID/ns/net or a name below
 * /run/netns, is not there any more, or is another one. An open file of the namespace
 * would say nothing, and keep its devices alive.
 */
#define _GNU_SOURCE
#include "poller.h"

#include <sys/stat.h>

static struct stat watch;

int watch__start(const char *netns)
{
	return netns == NULL ? 0 : stat(netns, &watch);
}

bool watch__gone(const char *netns)
{
	struct stat now;

	if (netns == NULL)
		return false;
	return stat(netns, &now) < 0 || now.st_ino != watch.st_ino || now.st_dev != watch.st_dev;
}
