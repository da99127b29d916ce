// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps what the first process of a container prints, and how it ends; or what a guest prints on its
 * console.
 *
 * It reads from FIFO into LOG. A log of BYTES is put aside as LOG.1, in the place of the one before,
 * whose bytes are then lost: LOG.lost says how many have been. COMMAND makes the container, prints to
 * FIFO, and ends; what it leaves is a child of this process from then on (PR_SET_CHILD_SUBREAPER). How that
 * ends is written to ENDED: "exit 3" or "signal 9". Without COMMAND another program makes the container,
 * or is QEMU, and only the output is kept.
 *
 *   1. COMMAND's exit code, or 0 without one, is written to descriptor 3, a line; all that COMMAND has
 *      printed is in LOG by then;
 *   2. it ends when nobody has FIFO open for writing, and no child is left.
 *
 * NINES_TOKEN in its environment is where `nines down` finds it.
 */
#define _GNU_SOURCE
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPORT_FD = 3 };

struct keep {
	const char *log;
	const char *ended;
	long long limit; /* bytes of a log */
	long long written;
	long long lost;
	int fifo; /* -1 once nobody writes to it */
	int file;
};

static int keep__fail(const char *what, const char *which)
{
	fprintf(stderr, "nines-init: keep: %s %s: %s\n", what, which, strerror(errno));
	return INIT_EXIT_FAILED;
}

/* Writes a line to a file as a whole. What a full disk loses is only told. */
static void keep__note(const char *path, const char *word, long long number)
{
	char beside[PATH_MAX];
	FILE *file;

	if (snprintf(beside, sizeof beside, "%s.new", path) >= (int)sizeof beside)
		return;
	file = fopen(beside, "we");
	if (file == NULL)
		return;
	fprintf(file, "%s%lld\n", word, number);
	if (fclose(file) == 0)
		rename(beside, path);
}

/* Puts the log aside and begins another. */
static void keep__turn(struct keep *keep)
{
	char aside[PATH_MAX];
	char lost[PATH_MAX];
	struct stat before;

	if (snprintf(aside, sizeof aside, "%s.1", keep->log) >= (int)sizeof aside ||
	    snprintf(lost, sizeof lost, "%s.lost", keep->log) >= (int)sizeof lost)
		return;
	if (keep->file >= 0) {
		if (stat(aside, &before) == 0) {
			keep->lost += before.st_size;
			keep__note(lost, "", keep->lost);
		}
		rename(keep->log, aside);
		close(keep->file);
	}
	keep->written = 0;
	keep->file = open(keep->log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
}

/* Moves what is in the pipe to the log, without waiting for more. */
static void keep__drain(struct keep *keep)
{
	static char buffer[64 << 10];

	while (keep->fifo >= 0) {
		ssize_t got = read(keep->fifo, buffer, sizeof buffer);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		if (keep->written + got > keep->limit)
			keep__turn(keep);
		if (keep->file >= 0 && write(keep->file, buffer, (size_t)got) > 0)
			keep->written += got;
	}
}

/* Reaps children, and notes how those ended that COMMAND left. COMMAND's status is returned when it has
 * ended; -1 before. */
static int keep__reap(struct keep *keep, pid_t command)
{
	int of_command = -1;
	int status;
	pid_t pid;

	/* What they printed comes first: who sees that they have ended finds it in the log. */
	keep__drain(keep);
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == command)
			of_command =
				WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		else if (WIFEXITED(status))
			keep__note(keep->ended, "exit ", WEXITSTATUS(status));
		else
			keep__note(keep->ended, "signal ", WTERMSIG(status));
	}
	return of_command;
}

static void keep__report(int code)
{
	char line[16];
	int length = snprintf(line, sizeof line, "%d\n", code);
	ssize_t written;

	/* If the starter is gone, nobody reads it. */
	written = write(REPORT_FD, line, (size_t)length);
	(void)written;
	close(REPORT_FD);
}

static _Noreturn void keep__run(char **command, int output, const sigset_t *mask)
{
	close(REPORT_FD);
	if (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
		_exit(INIT_EXIT_FAILED);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(command[0], command);
	keep__fail("run", command[0]);
	_exit(errno == ENOENT ? INIT_EXIT_NOT_FOUND : INIT_EXIT_CANNOT_RUN);
}

static void keep__until_all_ended(struct keep *keep, int signals, pid_t command)
{
	bool children = command > 0;

	while (keep->fifo >= 0 || children) {
		struct pollfd events[] = {{.fd = keep->fifo, .events = POLLIN},
					  {.fd = signals, .events = POLLIN}};
		struct signalfd_siginfo info;

		if (poll(events, 2, -1) < 0 && errno != EINTR)
			return;
		keep__drain(keep);
		if ((events[0].revents & (POLLHUP | POLLERR)) != 0 &&
		    (events[0].revents & POLLIN) == 0) {
			close(keep->fifo);
			keep->fifo = -1;
		}
		if ((events[1].revents & POLLIN) != 0 && read(signals, &info, sizeof info) > 0) {
			int code = keep__reap(keep, command);

			if (code >= 0)
				keep__report(code);
		}
		siginfo_t any;
		children = command > 0 && waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) == 0;
	}
}

int keep__main(char **arguments)
{
	struct keep keep = {.log = arguments[0],
			    .limit = atoll(arguments[1]),
			    .ended = arguments[2],
			    .file = -1};
	const char *fifo = arguments[3];
	char **command = arguments + 4;
	sigset_t child;
	sigset_t before;
	pid_t pid = 0;
	int output;
	int signals;

	keep.fifo = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (keep.fifo < 0)
		return keep__fail("open", fifo);
	keep__turn(&keep);
	if (keep.file < 0)
		return keep__fail("open", keep.log);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	signals = signalfd(-1, &child, SFD_CLOEXEC);
	if (signals < 0)
		return keep__fail("watch", "children");
	if (command[0] == NULL) {
		keep__report(0);
	} else {
		if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
			return keep__fail("adopt", "orphans");
		output = open(fifo, O_WRONLY | O_CLOEXEC);
		if (output < 0)
			return keep__fail("open", fifo);
		pid = fork();
		if (pid < 0)
			return keep__fail("start", command[0]);
		if (pid == 0)
			keep__run(command, output, &before);
		close(output);
	}
	keep__until_all_ended(&keep, signals, pid);
	return 0;
}
