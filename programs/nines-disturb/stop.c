// SPDX-License-Identifier: Apache-2.0
/*
 * Stops a process and continues it. A guard, a separate process, continues it however this
 * one ends. Both refer to it by a pidfd, which never refers to another process.
 */
#define _GNU_SOURCE
#include "disturb.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int process = -1, alive = -1;
static pid_t guard;

static int stop_send(int signal)
{
	return (int)syscall(SYS_pidfd_send_signal, process, signal, NULL, 0);
}

/* The pipe ends when this program does. Signals that would end the guard are blocked. */
static void stop_guard(int ended)
{
	char byte;

	prctl(PR_SET_NAME, "nines-disturb-g");
	while (read(ended, &byte, 1) < 0 && errno == EINTR)
		;
	stop_send(SIGCONT);
	_exit(0);
}

static int stop_setup(const struct request *request)
{
	int ends[2];

	process = (int)syscall(SYS_pidfd_open, request->pid, 0);
	if (process < 0 || stop_send(0) < 0)
		return failed("reach process %d", (int)request->pid);
	if (pipe(ends) < 0)
		return failed("make a pipe");
	guard = fork();
	if (guard < 0)
		return failed("start a guard");
	if (guard == 0) {
		close(ends[1]);
		stop_guard(ends[0]);
	}
	close(ends[0]);
	alive = ends[1];
	return 0;
}

static int stop_inject(const struct request *request, struct injection *injection)
{
	if (stop_send(SIGSTOP) < 0)
		return failed("stop process %d", (int)request->pid);
	injection->begin_ns = clock_now();
	clock_sleep_until(injection->begin_ns + request->length_ns);
	if (stop_send(SIGCONT) < 0)
		return failed("let process %d continue", (int)request->pid);
	injection->end_ns = clock_now();
	injection->events = 1;
	return 0;
}

static void stop_teardown(void)
{
	if (process >= 0)
		stop_send(SIGCONT);
	if (alive >= 0)
		close(alive);
	if (guard > 0)
		waitpid(guard, NULL, 0);
}

const struct kind kind_stop = {
	.name = "stop",
	.summary = "stops the process of --pid for that long, then continues it",
	.remote = true,
	.needs_pid = true,
	.takes_pid = true,
	.setup = stop_setup,
	.inject = stop_inject,
	.teardown = stop_teardown,
};
