// SPDX-License-Identifier: Apache-2.0
/*
 * Puts a process behind the walls of another one, capabilities(7), prctl(2). The bounding set is
 * the wall: a program that root starts gets all of it, whatever its parent had.
 */
#define _GNU_SOURCE
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* More than a process's status has where groups and CPUs are many; untouched pages cost nothing. */
static char status[1 << 18];

static int walls__read(int pid)
{
	char path[64];
	size_t length = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	do {
		got = read(fd, status + length, sizeof status - 1 - length);
		length += got > 0 ? (size_t)got : 0;
	} while (got > 0);
	close(fd);
	status[length] = '\0';
	return got < 0 ? -1 : 0;
}

/* The number behind a key such as "\nCapBnd:\t"; the process's name, which comes first, has no
 * line breaks. */
static int walls__number(const char *key, int base, uint64_t *number)
{
	const char *at = strstr(status, key);

	if (at == NULL) {
		errno = ENODATA;
		return -1;
	}
	*number = strtoull(at + strlen(key), NULL, base);
	return 0;
}

int walls__of(int pid, struct walls *walls)
{
	uint64_t no_new_privs;
	uint64_t filters;

	if (walls__read(pid) < 0 || walls__number("\nCapBnd:\t", 16, &walls->capabilities) < 0 ||
	    walls__number("\nNoNewPrivs:\t", 10, &no_new_privs) < 0)
		return -1;
	/* A kernel without seccomp does not have the line, nor has one before 5.9. */
	if (walls__number("\nSeccomp_filters:\t", 10, &filters) < 0)
		filters = 0;
	walls->no_new_privs = no_new_privs != 0;
	walls->filters = (unsigned)filters;
	walls->filter = 0;
	return 0;
}

int walls__keep(uint64_t capabilities)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	/* Reading one that the kernel does not have fails. */
	for (int cap = 0; cap < 64 && prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if (!(capabilities >> cap & 1) && prctl(PR_CAPBSET_READ, cap) == 1 &&
		    prctl(PR_CAPBSET_DROP, cap) < 0)
			return -1;
	if (syscall(SYS_capget, &header, data) < 0)
		return -1;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		uint32_t mask = (uint32_t)(capabilities >> (32 * i));

		data[i].effective &= mask;
		data[i].permitted &= mask;
		data[i].inheritable &= mask;
	}
	return (int)syscall(SYS_capset, &header, data);
}

const char *walls__raise(const struct walls *walls, const struct walls *own)
{
	/* The filter first, as CAP_SYS_ADMIN may go with the rest. Filters that both have are those
	 * of a container in which nines itself runs. */
	if (walls->filter > 0 && walls->filters > own->filters &&
	    seccomp__install(walls->filter) < 0)
		return "refuse system calls as in";
	if (walls->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return "give up new privileges as in";
	if (walls__keep(walls->capabilities) < 0)
		return "drop capabilities as in";
	return NULL;
}
