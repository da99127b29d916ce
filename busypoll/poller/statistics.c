// SPDX-License-Identifier: Apache-2.0
/*
 * The statistics file. What the kernel knows about a thread, the poller's or a kernel thread,
 * comes from /proc/TID/schedstat (time on a CPU, time waiting for one, in nanoseconds;
 * Documentation/scheduler/sched-stats.rst) and from its status.
 */
#define _GNU_SOURCE
#include "statistics.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

uint64_t statistics__now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *statistics__map(const char *path)
{
	void *memory;
	int fd;

	if (path == NULL)
		return mmap(NULL, sizeof(struct statistics), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return MAP_FAILED;
	memory = MAP_FAILED;
	if (ftruncate(fd, sizeof(struct statistics)) == 0)
		memory = mmap(NULL, sizeof(struct statistics), PROT_READ | PROT_WRITE, MAP_SHARED,
			      fd, 0);
	close(fd);
	return memory;
}

struct statistics *statistics__open(const char *path, const char *mechanism)
{
	struct statistics *statistics = statistics__map(path);

	if (statistics == MAP_FAILED)
		return NULL;
	statistics->size = sizeof *statistics;
	statistics->pid = (uint64_t)getpid();
	statistics->started_ns = statistics__now();
	snprintf(statistics->mechanism, sizeof statistics->mechanism, "%s", mechanism);
	/* Last, so that a reader that sees the magic number sees the rest. */
	__atomic_store_n(&statistics->magic, STATISTICS_MAGIC, __ATOMIC_RELEASE);
	return statistics;
}

/* Reads a file of a thread into text; false if the thread is gone. */
static bool statistics__read(uint64_t tid, const char *file, char *text, size_t size)
{
	char path[64];
	ssize_t length;
	int fd;

	snprintf(path, sizeof path, "/proc/%u/%s", (unsigned)tid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, text, size - 1);
	close(fd);
	text[length < 0 ? 0 : length] = '\0';
	return length > 0;
}

/* The totals of a slot's earlier threads: one that backs off ends, and a new one follows. */
static struct {
	uint64_t tid;
	struct statistics_thread before;
} earlier[STATISTICS_THREADS];

static void statistics__update_thread(struct statistics_thread *thread, int slot)
{
	static const char switches[] = "\nnonvoluntary_ctxt_switches:";
	struct statistics_thread *before = &earlier[slot].before;
	char text[4096];
	const char *found;
	char *rest;

	if (earlier[slot].tid != thread->tid) {
		earlier[slot].tid = thread->tid;
		before->cpu_ns = thread->cpu_ns;
		before->waited_ns = thread->waited_ns;
		before->preemptions = thread->preemptions;
	}
	if (!statistics__read(thread->tid, "schedstat", text, sizeof text)) {
		if (thread->state != STATISTICS_BACKED_OFF && thread->state != STATISTICS_STALE)
			thread->state = STATISTICS_ENDED;
		return;
	}
	thread->cpu_ns = before->cpu_ns + strtoull(text, &rest, 10);
	thread->waited_ns = before->waited_ns + strtoull(rest, NULL, 10);
	if (!statistics__read(thread->tid, "status", text, sizeof text))
		return;
	found = strstr(text, switches);
	if (found != NULL)
		thread->preemptions =
			before->preemptions + strtoull(found + sizeof switches - 1, NULL, 10);
}

void statistics__update(struct statistics *statistics)
{
	for (uint64_t i = 0; i < statistics->threads; i++)
		statistics__update_thread(&statistics->thread[i], (int)i);
	__atomic_store_n(&statistics->updated_ns, statistics__now(), __ATOMIC_RELEASE);
}
