// SPDX-License-Identifier: Apache-2.0
/*
 * Enters another network namespace for a moment. Only the calling thread enters it, and
 * afterwards only what the caller opened there stays open.
 */
#define _GNU_SOURCE
#include "poller.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

int netns__enter(const char *path, int *home)
{
	int there = open(path, O_RDONLY | O_CLOEXEC);
	int failed = -1;
	int error;

	*home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (*home >= 0 && there >= 0)
		failed = setns(there, CLONE_NEWNET);
	error = errno;
	if (there >= 0)
		close(there);
	if (failed < 0 && *home >= 0)
		close(*home);
	errno = error;
	return failed;
}

void netns__leave(int home)
{
	int error = errno;

	if (setns(home, CLONE_NEWNET) < 0)
		abort(); /* it was possible a moment ago */
	close(home);
	errno = error;
}
