// SPDX-License-Identifier: Apache-2.0
/* TLB shootdowns: a thread takes away rights to memory, and memory, that a thread of the same process
 * on the CPU may have in its TLB: each is an interrupt of that CPU. So that there is one to
 * interrupt, a thread of the lowest policy reads the memory there when nothing else runs. It keeps
 * the CPU from going idle, too. */
#define _GNU_SOURCE
#include "bursts.h"

#include <pthread.h>
#include <sys/mman.h>

enum { PAGES = 16, PAGE_BYTES = 4096 };

static volatile char *shared;

static void *map(void)
{
	void *pages = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		die("map memory");
	return pages;
}

/* dirty has the kernel know that the pages may be in a TLB, as pages to be written. */
static void dirty(volatile char *pages)
{
	for (int i = 0; i < PAGES; i++)
		pages[i * PAGE_BYTES]++;
}

static void *companion(void *cpu)
{
	struct sched_param param = {0};

	pin_to(*(int *)cpu);
	if (sched_setscheduler(0, SCHED_IDLE, &param) < 0)
		die("be the least important");
	while (!bursts_ended)
		for (int i = 0; i < PAGES; i++)
			(void)shared[i * PAGE_BYTES];
	return NULL;
}

/* The kernel may flush wherever it changes a mapping, so that all of a blow is in the log. */
static void blow(struct bursts *b)
{
	static unsigned int count;
	uint64_t begin = now_ns();

	if (count++ % 2) {
		volatile char *own = map();

		dirty(own);
		if (munmap((void *)own, PAGES * PAGE_BYTES) < 0)
			die("unmap memory");
	} else {
		dirty(shared);
		if (mprotect((void *)shared, PAGES * PAGE_BYTES, PROT_READ) < 0)
			die("take the right to write");
		if (mprotect((void *)shared, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE) < 0)
			die("give the right to write back");
	}
	bursts_note(b, begin, now_ns());
}

int main(int argc, char **argv)
{
	struct bursts b = bursts_begin(argc, argv);
	pthread_t thread;

	shared = map();
	if (pthread_create(&thread, NULL, companion, &b.target) != 0)
		die("start a thread");
	pin_off(b.target);
	return bursts_run(&b, blow);
}
