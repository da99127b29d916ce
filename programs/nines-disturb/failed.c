// SPDX-License-Identifier: Apache-2.0
/* Error messages and their exit codes. */
#define _GNU_SOURCE
#include "disturb.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int failed(const char *format, ...)
{
	int reason = errno;
	va_list arguments;

	fputs("nines-disturb: cannot ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, ": %s\n", strerror(reason));
	switch (reason) {
	case ENOSYS:
	case ENODEV:
	case EINVAL:
		return DISTURB_EXIT_HOST;
	default:
		return DISTURB_EXIT_FAILED;
	}
}
