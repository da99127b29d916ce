// SPDX-License-Identifier: Apache-2.0
/* Touches new memory on the CPU and gives it back: a page fault for each page. */
#define _GNU_SOURCE
#include "bursts.h"

#include <sys/mman.h>
#include <sys/resource.h>

enum { PAGES = 64 };

static void blow(struct bursts *b)
{
	uint64_t begin = now_ns(), last = begin;
	volatile char *memory = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die("map memory");
	for (int i = 0; i < PAGES; i++) {
		uint64_t now;

		memory[i * 4096l] = 1;
		now = now_ns();
		if (now - last > 20000) { /* others had the CPU */
			bursts_note(b, begin, last);
			begin = now;
		}
		last = now;
	}
	munmap((void *)memory, PAGES * 4096);
	bursts_note(b, begin, now_ns());
}

int main(int argc, char **argv)
{
	struct bursts b = bursts_begin(argc, argv);

	pin_to(b.target);
	if (setpriority(PRIO_PROCESS, 0, -20) < 0)
		die("be as important as what it disturbs");
	return bursts_run(&b, blow);
}
