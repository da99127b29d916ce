// SPDX-License-Identifier: Apache-2.0
/* Reads the memory's statistics, for which the kernel has work done on all CPUs (vmstat_refresh()
 * in mm/vmstat.c). */
#define _GNU_SOURCE
#include "bursts.h"

#include <fcntl.h>

static int file;

static void blow(struct bursts *b)
{
	char text[16];
	uint64_t begin = now_ns();

	if (pread(file, text, sizeof text, 0) < 0)
		die("read stat_refresh");
	bursts_note(b, begin, now_ns());
}

int main(int argc, char **argv)
{
	struct bursts b = bursts_begin(argc, argv);

	pin_off(b.target);
	file = open("/proc/sys/vm/stat_refresh", O_RDONLY);
	if (file < 0)
		die("open stat_refresh");
	return bursts_run(&b, blow);
}
