// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps a setting in force that lasts while its file is open, such as the longest wake-up
 * from idle in /dev/cpu_dma_latency: it writes a 32-bit number
 * (Documentation/power/pm_qos_interface.rst). It prints "ok" to standard output when the
 * setting holds, and waits to be ended. Its token, an argument, is for readers of
 * /proc/PID/cmdline.
 */
#define _GNU_SOURCE
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int hold__fail(const char *what, const char *path)
{
	fprintf(stderr, "nines-init: %s %s: %s\n", what, path, strerror(errno));
	return INIT_EXIT_FAILED;
}

int hold__main(const char *path, const char *number)
{
	sigset_t end;
	char *rest;
	long value;
	int32_t word;
	int got;
	int fd;

	errno = 0;
	value = strtol(number, &rest, 10);
	if (errno != 0 || rest == number || *rest != '\0' || value < INT32_MIN ||
	    value > INT32_MAX) {
		fprintf(stderr, "nines-init: %s is not a number of 32 bits\n", number);
		return INIT_EXIT_USAGE;
	}
	word = (int32_t)value;
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return hold__fail("open", path);
	if (write(fd, &word, sizeof word) != (ssize_t)sizeof word)
		return hold__fail("write to", path);
	if (write(STDOUT_FILENO, "ok\n", 3) != 3)
		return INIT_EXIT_FAILED;
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	sigwait(&end, &got);
	return 0;
}
