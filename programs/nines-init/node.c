// SPDX-License-Identifier: Apache-2.0
/*
 * Pid 1 of a netns node. The parent started it with new net, mount, pid, uts and
 * ipc namespaces, and communicates over file descriptor 3:
 *
 *   1. the parent writes its journal, then one byte;
 *   2. node mounts, sets its host name, and answers "ok\n" or what failed.
 *
 * If the parent dies before 1, the read ends and so does this process, so that no orphan
 * stays that no journal knows. TOKEN only has to be among the arguments, where `nines down`
 * finds it if the parent died after 1 and before its journal said done.
 */
#define _GNU_SOURCE
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONTROL_FD = 3 };

static int node__fail(const char *what, const char *which)
{
	char line[512];
	int length = snprintf(line, sizeof line, "%s %s: %s\n", what, which, strerror(errno));

	if (length > (int)sizeof line)
		length = sizeof line;
	/* If the parent is gone, no process is left to read it. */
	if (write(CONTROL_FD, line, length) < 0)
		return INIT_EXIT_FAILED;
	return INIT_EXIT_FAILED;
}

/* Shows SOURCE at TARGET, with all that is mounted below it. A bind mount becomes read-only only in
 * a second step, mount(2), and what is below it only if asked (Linux 5.12). */
static int node__bind(const char *mode, const char *source, const char *target)
{
	struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};

	if (mount(source, target, NULL, MS_BIND | MS_REC, NULL) < 0)
		return -1;
	if (strcmp(mode, "ro") != 0)
		return 0;
	return mount_setattr(AT_FDCWD, target, AT_RECURSIVE, &attributes, sizeof attributes);
}

/* Makes FOLDER of the files at ROOT read-only, but leaves EXCEPTION below it as it is, where there is
 * one. */
static int node__lock(const char *root, const char *folder, const char *exception)
{
	struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_RDONLY};
	char path[PATH_MAX];

	if (snprintf(path, sizeof path, "%s%s", root, folder) >= (int)sizeof path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (node__bind("ro", path, path) < 0)
		return -1;
	if (exception == NULL)
		return 0;
	if (snprintf(path, sizeof path, "%s%s", root, exception) >= (int)sizeof path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	/* A bind mount begins with the attributes of what it shows. */
	if (mount(path, path, NULL, MS_BIND, NULL) < 0)
		return errno == ENOENT ? 0 : -1;
	return mount_setattr(AT_FDCWD, path, 0, &attributes, sizeof attributes);
}

/* The sysctls of the node's network stay writable, and the settings of its virtual devices: the
 * rest is the whole host's. The same as LXC's proc:mixed and sys:mixed. NULL, or what failed. */
static const char *node__lock_settings(const char *root, const char *sysfs)
{
	if (node__lock(root, "/proc/sys", "/proc/sys/net") < 0)
		return "/proc/sys";
	/* Not there without CONFIG_MAGIC_SYSRQ. */
	if (node__lock(root, "/proc/sysrq-trigger", NULL) < 0 && errno != ENOENT)
		return "/proc/sysrq-trigger";
	if (strcmp(sysfs, "ro") == 0 && node__lock(root, "/sys", "/sys/devices/virtual/net") < 0)
		return "/sys";
	return NULL;
}

/* A hook of an OCI runtime: does this in a container that is being made, whose files are at ROOT and
 * whose namespaces this process is in. */
int lock__main(const char *root, const char *sysfs)
{
	const char *failed = node__lock_settings(root, sysfs);

	if (failed == NULL)
		return 0;
	fprintf(stderr, "nines-init: make read-only %s%s: %s\n", root, failed, strerror(errno));
	return INIT_EXIT_FAILED;
}

int node__main(int argc, char **argv)
{
	const char *hostname = argv[1];
	bool walled = argc >= 6 && strcmp(argv[2], "walls") == 0;
	bool locked = walled && strcmp(argv[4], "all") != 0;
	const char *failed;
	sigset_t all;
	char go;

	/* Signals stay blocked until the reaper waits for them. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (read(CONTROL_FD, &go, 1) != 1)
		return 0;

	if (sethostname(hostname, strlen(hostname)) < 0)
		return node__fail("set host name", hostname);
	/* Private, so that mounts of the node do not show on the host, nor the other way. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return node__fail("make private", "/");
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return node__fail("mount", "/proc");
	/* A sysfs shows the net namespace of the process that mounted it. */
	if (mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return node__fail("mount", "/sys");
	failed = locked ? node__lock_settings("", argv[4]) : NULL;
	if (failed != NULL)
		return node__fail("make read-only", failed);
	/* For programs that pin BPF objects, where the node may load any (allow: bpf); a kernel without BPF has none. */
	if (mount("bpf", "/sys/fs/bpf", "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 &&
	    errno != ENODEV && errno != ENOENT)
		return node__fail("mount", "/sys/fs/bpf");
	for (int i = walled ? 6 : 2; i + 2 < argc; i += 3)
		if (node__bind(argv[i], argv[i + 1], argv[i + 2]) < 0)
			return node__fail("mount", argv[i + 2]);
	if (walled && strcmp(argv[5], "keep") == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return node__fail("give up", "new privileges");
	/* Last, as the steps before need more than the node is left with. */
	if (walled && walls__keep(strtoull(argv[3], NULL, 16)) < 0)
		return node__fail("drop", "capabilities");
	if (write(CONTROL_FD, "ok\n", 3) != 3)
		return INIT_EXIT_FAILED;
	close(CONTROL_FD);
	return reaper__main();
}

/* A host node is the host's own processes: this only holds a network namespace. The two
 * arguments are for readers of /proc/PID/cmdline. */
int host__main(void)
{
	sigset_t all;
	char go;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (read(CONTROL_FD, &go, 1) != 1)
		return 0;
	if (write(CONTROL_FD, "ok\n", 3) != 3)
		return INIT_EXIT_FAILED;
	close(CONTROL_FD);
	return reaper__main();
}

int reaper__main(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (chdir("/") < 0)
		return INIT_EXIT_FAILED;
	for (;;) {
		int signal = sigwaitinfo(&all, NULL);

		if (signal == SIGCHLD)
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
		/* LXC stops a container with lxc.signal.halt, which we set to SIGTERM. */
		if (signal == SIGTERM)
			return 0;
	}
}
