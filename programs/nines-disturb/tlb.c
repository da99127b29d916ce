// SPDX-License-Identifier: Apache-2.0
/*
 * TLB shootdowns: a thread that unmaps a page, or marks it as not used, must interrupt
 * every CPU that may have it in its TLB, which are those that run threads of the same
 * process. /proc/interrupts counts them in the line TLB.
 *
 * With --pid they hit that process on any CPU: 4 written to its clear_refs, proc(5), clears
 * the soft-dirty bits of its pages, and always flushes (clear_refs_write in
 * fs/proc/task_mmu.c; Linux 3.11 and later). This costs the process only time, and users of
 * those bits, such as CRIU, the bits. Without --pid, a thread of this program runs on the
 * CPU while another maps and unmaps memory.
 */
#define _GNU_SOURCE
#include "disturb.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 16

static pthread_t companion;
static bool has_companion;
static atomic_bool running, ending;
static const struct request *companion_request;
static atomic_int companion_code;
static int references = -1;

/* companion_main runs on the disturbed CPU during an injection, so that there is a thread
 * to interrupt. */
static void *companion_main(void *unused)
{
	int code = placement_pin(companion_request->cpu);

	(void)unused;
	if (code == 0)
		code = placement_schedule(companion_request->policy, companion_request->priority);
	atomic_store(&companion_code, code == 0 ? -1 : code);
	while (code == 0 && !atomic_load(&ending))
		if (!atomic_load(&running))
			clock_sleep_until(clock_now() + 100 * NS_PER_US);
	return NULL;
}

static int tlb_open(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/clear_refs", (int)pid);
	references = open(path, O_WRONLY | O_CLOEXEC);
	return references < 0 ? failed("open %s", path) : 0;
}

static int tlb_setup(const struct request *request)
{
	if (request->pid != 0)
		return tlb_open(request->pid);
	companion_request = request;
	errno = pthread_create(&companion, NULL, companion_main, NULL);
	if (errno != 0)
		return failed("start a thread");
	has_companion = true;
	while (atomic_load(&companion_code) == 0)
		clock_sleep_until(clock_now() + 100 * NS_PER_US);
	return atomic_load(&companion_code) > 0 ? atomic_load(&companion_code) : 0;
}

/* One shootdown, if the companion is there. */
static int tlb_flush(void)
{
	volatile char *pages;

	if (references >= 0)
		return pwrite(references, "4", 1, 0) < 0
			       ? failed("clear the soft-dirty bits of the process")
			       : 0;
	pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (pages == MAP_FAILED)
		return failed("map memory");
	for (int i = 0; i < PAGES; i++)
		pages[i * 4096l] = 1;
	return munmap((void *)pages, PAGES * 4096) < 0 ? failed("unmap memory") : 0;
}

static int tlb_inject(const struct request *request, struct injection *injection)
{
	int code = 0;

	atomic_store(&running, true);
	do {
		code = tlb_flush();
		injection->events++;
		injection->end_ns = clock_now();
	} while (code == 0 && injection->end_ns - injection->begin_ns < request->length_ns &&
		 !stopping());
	atomic_store(&running, false);
	return code;
}

static void tlb_teardown(void)
{
	atomic_store(&ending, true);
	if (has_companion)
		pthread_join(companion, NULL);
}

const struct kind kind_tlb = {
	.name = "tlb",
	.summary = "flushes the TLB of the CPU from another one, or with --pid those of a process",
	.remote = true,
	.needs_cpu = true,
	.takes_pid = true,
	.setup = tlb_setup,
	.inject = tlb_inject,
	.teardown = tlb_teardown,
};
