// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a command inside a node: first enters its cgroups, then its namespaces and root, goes
 * behind the walls of its first process (walls.c), then forks (a pid namespace applies only to
 * children), then sets the CPUs, the user and the folder. The policy comes before the walls, as it may need more
 * rights than the node's programs have.
 *
 * The walls come before the fork: the child is the first that the node's own processes see, and
 * they could take it over with ptrace(2) while it has no more rights than they have. With
 * --capabilities it keeps more, for nines' engine: the kernel then refuses to be traced by them
 * (cap_ptrace_access_check in security/commoncap.c). That is run by --program, a file that is opened before
 * the node's files are joined, as root in a container may put another program at any path.
 *
 * The outer process stays: it forwards signals (not with --signals group, where the sender signals
 * the process group that the command is in, too), follows the command's stops, and ends with its exit code. The command dies with it. With --detach it prints the command's process id
 * instead and ends; the node's pid 1 adopts the command. That takes a second fork: an
 * orphan goes to the first process of its *parent's* pid namespace, and only the second
 * parent is in the node's (find_child_reaper in kernel/exit.c).
 */
#define _GNU_SOURCE
#include "init.h"
#include "scheduling.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* More groups than a user of a node has. */
enum { MOST_GROUPS = 64 };

struct enter {
	int pid;
	unsigned long long start;
	const char *cpus;
	const char *dir;
	const char *scheduling;
	const char *detach;
	const char *filter;
	const char *program;
	const char *capabilities;
	const char *user;
	int program_fd;
	int forwards; /* signals */
	char **command;
};

static int enter__fail(const char *what, const char *which)
{
	fprintf(stderr, "nines-init: %s %s: %s\n", what, which, strerror(errno));
	return INIT_EXIT_FAILED;
}

/* The start time is field 22 of /proc/PID/stat, proc(5); the name, field 2, may contain any
 * character, so fields are counted from its closing bracket. */
static unsigned long long enter__start_time(int pid)
{
	char path[64];
	char text[1024];
	const char *at;
	ssize_t length;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	length = read(fd, text, sizeof text - 1);
	close(fd);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at != NULL && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at == NULL ? 0 : strtoull(at, NULL, 10);
}

static int enter__join_cgroup(const char *procs)
{
	int fd = open(procs, O_WRONLY | O_CLOEXEC);
	int failed;

	if (fd < 0)
		return -1;
	failed = write(fd, "0", 1) != 1;
	close(fd);
	return failed ? -1 : 0;
}

/* Sets the CPUs from the kernel's list format, "0-3,8". */
static int enter__set_cpus(const char *list)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	while (*list != '\0') {
		char *end;
		long first = strtol(list, &end, 10);
		long last = first;

		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		if (end == list || first < 0 || last >= CPU_SETSIZE) {
			errno = EINVAL;
			return -1;
		}
		for (long cpu = first; cpu <= last; cpu++)
			CPU_SET(cpu, &set);
		list = *end == ',' ? end + 1 : end;
		if (*end != ',' && *end != '\0') {
			errno = EINVAL;
			return -1;
		}
	}
	return sched_setaffinity(0, sizeof set, &set);
}

/* Sets user and groups from "UID:GID" or "UID:GID:GROUP,GROUP…". */
static int enter__set_user(const char *text)
{
	gid_t groups[MOST_GROUPS];
	size_t count = 0;
	char *end;
	uid_t user = (uid_t)strtoul(text, &end, 10);
	gid_t group;

	if (end == text || *end != ':') {
		errno = EINVAL;
		return -1;
	}
	group = (gid_t)strtoul(end + 1, &end, 10);
	while (*end == ':' || *end == ',') {
		if (count == MOST_GROUPS) {
			errno = E2BIG;
			return -1;
		}
		groups[count++] = (gid_t)strtoul(end + 1, &end, 10);
	}
	if (*end != '\0') {
		errno = EINVAL;
		return -1;
	}
	/* The user last: without root's rights the others could not be set. */
	if (setgroups(count, groups) < 0 || setresgid(group, group, group) < 0)
		return -1;
	return setresuid(user, user, user);
}

/* Becomes the command. */
static int enter__run(const struct enter *enter, const sigset_t *mask)
{
	if (enter->cpus != NULL && enter__set_cpus(enter->cpus) < 0)
		return enter__fail("use CPUs", enter->cpus);
	if (enter->user != NULL && enter__set_user(enter->user) < 0)
		return enter__fail("become the user", enter->user);
	if (enter->detach != NULL) {
		/* Its standard output is for the process id, not for the command. */
		setsid();
		dup2(STDERR_FILENO, STDOUT_FILENO);
	} else {
		/* After the user: another one clears it, prctl(2). */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	if (chdir(enter->dir) < 0)
		return enter__fail("go to", enter->dir);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (enter->program != NULL)
		syscall(SYS_execveat, enter->program_fd, "", enter->command, environ,
			AT_EMPTY_PATH);
	else
		execvp(enter->command[0], enter->command);
	enter__fail("run", enter->command[0]);
	return errno == ENOENT ? INIT_EXIT_NOT_FOUND : INIT_EXIT_CANNOT_RUN;
}

/* Ends as the child ended, so that the caller sees the same. */
static int enter__end_as(int status)
{
	sigset_t set;
	int number;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	number = WTERMSIG(status);
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	prctl(PR_SET_DUMPABLE, 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	return 128 + number;
}

static int enter__wait(pid_t child, const sigset_t *all, int forwards)
{
	for (;;) {
		siginfo_t info;
		int status;
		int number = sigwaitinfo(all, &info);

		if (number < 0)
			continue;
		if (number != SIGCHLD) {
			/* The terminal sends its signals to the command too. */
			if (forwards && info.si_code <= 0)
				kill(child, number);
			continue;
		}
		while (waitpid(child, &status, WNOHANG | WUNTRACED) == child) {
			if (!WIFSTOPPED(status))
				return enter__end_as(status);
			/* A process that sends SIGSTOP will also continue the command, and
			 * does not know about us; but some programs stop themselves this way
			 * on Ctrl-Z. */
			if (WSTOPSIG(status) == SIGSTOP && tcgetpgrp(STDIN_FILENO) != getpgrp())
				continue;
			/* Stop as the command did (Ctrl-Z), and continue together. */
			kill(getpid(), SIGSTOP);
			kill(child, SIGCONT);
		}
	}
}

/* Starts the command as a child of a process in the node that ends at once, and prints its
 * process id as seen in the caller's namespace: the kernel translates the credentials of a
 * message, unix(7). */
static int enter__detach(const struct enter *enter, const sigset_t *mask)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	char byte = 0;
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof control};
	struct ucred sender = {0};
	int pair[2];
	int on = 1;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0)
		return enter__fail("prepare to start", enter->command[0]);
	child = fork();
	if (child < 0)
		return enter__fail("start", enter->command[0]);
	if (child == 0) {
		pid_t command = fork();

		if (command != 0)
			_exit(command < 0 ? INIT_EXIT_FAILED : 0);
		if (write(pair[1], &byte, 1) != 1)
			_exit(INIT_EXIT_FAILED);
		_exit(enter__run(enter, mask));
	}
	/* Closed here, so that the read ends if all writers are gone. */
	close(pair[1]);
	if (waitpid(child, NULL, 0) != child || recvmsg(pair[0], &message, 0) != 1 ||
	    CMSG_FIRSTHDR(&message) == NULL)
		return enter__fail("start", enter->command[0]);
	memcpy(&sender, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof sender);
	printf("%d\n", (int)sender.pid);
	return 0;
}

static int enter__parse(struct enter *enter, int argc, char **argv)
{
	for (int i = 0; i + 1 < argc; i += 2) {
		const char *key = argv[i];
		const char *value = argv[i + 1];

		if (value == NULL)
			return -1;
		if (strcmp(key, "--") == 0) {
			enter->command = argv + i + 1;
			return enter->pid > 0 ? 0 : -1;
		}
		if (strcmp(key, "--pid") == 0)
			enter->pid = atoi(value);
		else if (strcmp(key, "--start") == 0)
			enter->start = strtoull(value, NULL, 10);
		else if (strcmp(key, "--cpus") == 0)
			enter->cpus = value;
		else if (strcmp(key, "--dir") == 0)
			enter->dir = value;
		else if (strcmp(key, "--scheduling") == 0)
			enter->scheduling = value;
		else if (strcmp(key, "--detach") == 0)
			enter->detach = value;
		else if (strcmp(key, "--filter") == 0)
			enter->filter = value;
		else if (strcmp(key, "--program") == 0)
			enter->program = value;
		else if (strcmp(key, "--capabilities") == 0)
			enter->capabilities = value;
		else if (strcmp(key, "--user") == 0)
			enter->user = value;
		else if (strcmp(key, "--signals") == 0 && strcmp(value, "group") == 0)
			enter->forwards = 0;
		else if (strcmp(key, "--cgroup") != 0)
			return -1;
	}
	return -1;
}

int enter__main(int argc, char **argv)
{
	struct enter enter = {.dir = "/", .forwards = 1};
	sigset_t all;
	sigset_t before;
	struct walls walls;
	struct walls own;
	const char *failed;
	pid_t child;
	int node;

	if (enter__parse(&enter, argc, argv) < 0) {
		fputs("nines-init: wrong options for enter; see nines-init --help\n", stderr);
		return INIT_EXIT_USAGE;
	}
	/*
	 * First the pidfd, last the start time, so that the checked process is the one that is
	 * joined, and whose walls are read.
	 */
	node = (int)syscall(SYS_pidfd_open, enter.pid, 0);
	if (node < 0 || walls__of(enter.pid, &walls) < 0 || walls__of(getpid(), &own) < 0 ||
	    enter__start_time(enter.pid) != enter.start) {
		fprintf(stderr, "nines-init: the node's process %d has ended\n", enter.pid);
		return INIT_EXIT_FAILED;
	}
	if (enter.filter != NULL && (walls.filter = seccomp__read(enter.filter)) < 0)
		return enter__fail("read the filter", enter.filter);
	if (enter.program != NULL &&
	    (enter.program_fd = open(enter.program, O_RDONLY | O_CLOEXEC)) < 0)
		return enter__fail("open", enter.program);
	for (int i = 0; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2)
		if (strcmp(argv[i], "--cgroup") == 0 && enter__join_cgroup(argv[i + 1]) < 0)
			return enter__fail("join cgroup", argv[i + 1]);
	if (setns(node, CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID |
				CLONE_NEWNET) < 0)
		return enter__fail("join the namespaces of", "the node");
	close(node);
	if (enter.scheduling != NULL && scheduling__set(0, enter.scheduling) < 0)
		return enter__fail("schedule as", enter.scheduling);
	if (enter.capabilities != NULL)
		walls = (struct walls){.capabilities = strtoull(enter.capabilities, NULL, 16)};
	failed = walls__raise(&walls, &own);
	if (failed != NULL)
		return enter__fail(failed, "the node");

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	if (enter.detach != NULL)
		return enter__detach(&enter, &before);
	child = fork();
	if (child < 0)
		return enter__fail("start", enter.command[0]);
	if (child == 0)
		_exit(enter__run(&enter, &before));
	return enter__wait(child, &all, enter.forwards);
}
