// SPDX-License-Identifier: Apache-2.0
/* Tells when the program must end: on SIGTERM or SIGINT, which are blocked except during sleeps. */
#define _GNU_SOURCE
#include "disturb.h"

#include <signal.h>

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

bool stopping(void)
{
	sigset_t pending;

	if (!ended && sigpending(&pending) == 0 &&
	    (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1))
		ended = 1;
	return ended != 0;
}

void stopping_init(void)
{
	struct sigaction action = {.sa_handler = end};
	sigset_t signals;

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	signal(SIGPIPE, SIG_IGN); /* write_log() notices that the reader is gone */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
}
