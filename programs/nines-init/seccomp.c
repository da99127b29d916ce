// SPDX-License-Identifier: Apache-2.0
/*
 * Refuses system calls to commands that enter a container, as its first process is refused them: a filter is
 * inherited and never joined, seccomp(2). nines writes it (lab/node/seccomp_filter.go).
 */
#define _GNU_SOURCE
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct sock_filter code[BPF_MAXINSNS];

int seccomp__read(const char *path)
{
	ssize_t length;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	length = read(fd, code, sizeof code);
	close(fd);
	if (length < 0)
		return -1;
	if (length == 0 || (size_t)length % sizeof *code != 0) {
		errno = EINVAL;
		return -1;
	}
	return (int)((size_t)length / sizeof *code);
}

int seccomp__install(int instructions)
{
	struct sock_fprog program = {.len = (unsigned short)instructions, .filter = code};

	/* prctl() only takes programs of processes that gain no privileges, or have CAP_SYS_ADMIN. */
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
