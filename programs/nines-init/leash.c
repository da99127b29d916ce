// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a command whose processes end with the one that started it, however that ends.
 *
 * The command leads a process group of its own; what it starts is in the group, in whichever
 * namespaces, unless it leaves. The starter holds the other end of the pipe at LEASH_FD, so that the kernel
 * closes it when the starter is killed. What is left of the group is killed when the command ends,
 * when the starter is gone, and a while after SIGTERM.
 */
#define _GNU_SOURCE
#include "init.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEASH_FD 3
/* How long the group has after SIGTERM. */
#define LEASH_GRACE_MS 2000

static int leash__fail(const char *what)
{
	fprintf(stderr, "nines-init: leash: %s: %s\n", what, strerror(errno));
	return INIT_EXIT_FAILED;
}

static _Noreturn void leash__run(char **command, const sigset_t *mask)
{
	close(LEASH_FD);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(command[0], command);
	leash__fail(command[0]);
	_exit(errno == ENOENT ? INIT_EXIT_NOT_FOUND : INIT_EXIT_CANNOT_RUN);
}

/* Returns when the command has ended, and leaves it to be waited for: until then no other process
 * group can have its number. */
static void leash__await(pid_t group, int signals)
{
	struct pollfd events[] = {{.fd = signals, .events = POLLIN},
				  {.fd = LEASH_FD, .events = POLLIN}};
	int patience = -1;

	for (;;) {
		siginfo_t ended = {0};
		struct signalfd_siginfo info;
		int ready = poll(events, 2, patience);

		if (ready == 0 || events[1].revents != 0) {
			kill(-group, SIGKILL);
			events[1].fd = -1;
			patience = -1;
		}
		if (ready > 0 && (events[0].revents & POLLIN) != 0 &&
		    read(signals, &info, sizeof info) == (ssize_t)sizeof info &&
		    info.ssi_signo != SIGCHLD) {
			kill(-group, (int)info.ssi_signo);
			patience = LEASH_GRACE_MS;
		}
		if (waitid(P_PID, (id_t)group, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		    ended.si_pid == group)
			return;
	}
}

int leash__main(char **command)
{
	sigset_t caught;
	sigset_t before;
	int signals;
	int status;
	pid_t group;

	sigemptyset(&caught);
	sigaddset(&caught, SIGCHLD);
	sigaddset(&caught, SIGTERM);
	sigaddset(&caught, SIGINT);
	sigaddset(&caught, SIGHUP);
	sigprocmask(SIG_BLOCK, &caught, &before);
	signals = signalfd(-1, &caught, SFD_CLOEXEC);
	if (signals < 0)
		return leash__fail("watch signals");
	group = fork();
	if (group < 0)
		return leash__fail("start");
	if (group == 0)
		leash__run(command, &before);
	setpgid(group, group); /* here too, as the starter may be gone before the child does it */
	leash__await(group, signals);
	kill(-group, SIGKILL);
	if (waitpid(group, &status, 0) != group)
		return leash__fail("wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
