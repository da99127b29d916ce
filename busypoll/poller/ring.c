// SPDX-License-Identifier: Apache-2.0
/*
 * Polling by io_uring with static NAPI ids (Linux 6.13, io_uring/napi.c).
 *
 * A ring with IORING_SETUP_SQPOLL has a kernel thread, iou-sqp-PID, that looks for
 * submissions all the time; in every round it also polls each of the ring's NAPI instances
 * once (io_sq_thread and io_napi_sqpoll_busy_poll). This thread is the ring's only purpose;
 * the poller submits NOPs, which keep it from sleeping. It obeys the scheduler, and
 * continues polling after others had its CPU. io_uring_enter(2), which polls too, does not:
 * once preempted it sleeps until its timeout (NAPI_F_END_ON_RESCHED in napi_busy_loop_rcu,
 * net/core/dev.c), and it always sets a timer before it returns.
 *
 * The constants are from include/uapi/linux/io_uring.h of 6.13; distributions' headers are
 * older.
 */
#define _GNU_SOURCE
#include "ring.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_REGISTER_NAPI	  27
#define RING_NAPI_REGISTER_OP	  0
#define RING_NAPI_STATIC_ADD_ID	  1
#define RING_NAPI_TRACKING_STATIC 1

/* struct io_uring_napi */
struct ring_napi {
	uint32_t busy_poll_to;
	uint8_t prefer_busy_poll;
	uint8_t opcode;
	uint8_t pad[2];
	uint32_t op_param;
	uint32_t resv;
};

static int ring__napi(int fd, uint8_t opcode, uint32_t parameter)
{
	/* The kernel's thread polls once a round for any time but 0; ring__poll polls for a
	 * microsecond. */
	struct ring_napi napi = {
		.busy_poll_to = 1, .prefer_busy_poll = 1, .opcode = opcode, .op_param = parameter};

	return syscall(SYS_io_uring_register, fd, RING_REGISTER_NAPI, &napi, 1) < 0 ? -errno : 0;
}

static int ring__register(int fd, const struct share *share)
{
	int failed = ring__napi(fd, RING_NAPI_REGISTER_OP, RING_NAPI_TRACKING_STATIC);

	for (int i = 0; i < share->napis && failed == 0; i++)
		failed = ring__napi(fd, RING_NAPI_STATIC_ADD_ID, share->napi[i]);
	return failed;
}

/* Reads the line "SqThread:" of the ring's fdinfo. */
static pid_t ring__read_thread(int fd)
{
	char path[64];
	char line[128];
	pid_t tid = -1;
	FILE *info;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
	info = fopen(path, "re");
	if (info == NULL)
		return -1;
	while (fgets(line, sizeof line, info) != NULL)
		if (strncmp(line, "SqThread:", 9) == 0)
			tid = (pid_t)strtol(line + 9, NULL, 10);
	fclose(info);
	return tid;
}

/* Reports whether a thread of this process is a ring's, by its name (io_uring/sqpoll.c). */
static bool ring__is_thread(const char *tid)
{
	char path[64];
	char name[32];
	FILE *comm;
	bool is;

	if (snprintf(path, sizeof path, "/proc/self/task/%s/comm", tid) >= (int)sizeof path)
		return false;
	comm = fopen(path, "re");
	if (comm == NULL)
		return false;
	is = fgets(name, sizeof name, comm) != NULL && strncmp(name, "iou-sqp-", 8) == 0;
	fclose(comm);
	return is;
}

/* Reports whether a thread may run on one CPU only. */
static bool ring__is_on(pid_t tid, int cpu)
{
	cpu_set_t set;

	return sched_getaffinity(tid, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1 &&
	       CPU_ISSET(cpu, &set);
}

/* Finds the thread on a CPU among this process's own: each ring has one CPU. */
static pid_t ring__find_thread(int cpu)
{
	DIR *threads = opendir("/proc/self/task");
	struct dirent *entry;
	pid_t found = -1;

	if (threads == NULL)
		return -1;
	while (found < 0 && (entry = readdir(threads)) != NULL)
		if (ring__is_thread(entry->d_name) &&
		    ring__is_on((pid_t)strtol(entry->d_name, NULL, 10), cpu))
			found = (pid_t)strtol(entry->d_name, NULL, 10);
	closedir(threads);
	return found;
}

/* The thread's id. Before the thread first runs, the kernel reports its creator's (task_pid
 * in io_uring/sqpoll.c); on a busy CPU that takes a while. It reports the id that the thread
 * has for the host: in a namespace of process ids it has another. */
static pid_t ring__thread(int fd, int cpu)
{
	for (int tries = 0; tries < 10000; tries++) {
		pid_t tid = ring__read_thread(fd);
		char text[16];

		if (tid <= 0)
			return -1;
		snprintf(text, sizeof text, "%d", (int)tid);
		if (tid != gettid() && ring__is_thread(text))
			return tid;
		tid = ring__find_thread(cpu);
		if (tid > 0)
			return tid;
		usleep(1000);
	}
	return -1;
}

/* Maps the submission queue and its one entry, a NOP that leaves no completion. */
static int ring__map(struct ring *ring, const struct io_uring_params *parameters)
{
	const struct io_sqring_offsets *at = &parameters->sq_off;
	struct io_uring_sqe *entry;

	ring->size = at->array + parameters->sq_entries * sizeof(uint32_t);
	ring->queue = mmap(NULL, ring->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			   ring->fd, IORING_OFF_SQ_RING);
	if (ring->queue == MAP_FAILED)
		return -errno;
	entry = mmap(NULL, sizeof *entry, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		     ring->fd, IORING_OFF_SQES);
	if (entry == MAP_FAILED)
		return -errno;
	memset(entry, 0, sizeof *entry);
	entry->opcode = IORING_OP_NOP;
	entry->flags = IOSQE_CQE_SKIP_SUCCESS;
	munmap(entry, sizeof *entry);
	ring->head = (uint32_t *)(ring->queue + at->head);
	ring->tail = (uint32_t *)(ring->queue + at->tail);
	ring->flags = (uint32_t *)(ring->queue + at->flags);
	*(uint32_t *)(ring->queue + at->array) = 0;
	return 0;
}

int ring__start(struct ring *ring, const struct share *share, unsigned idle_ms)
{
	struct io_uring_params parameters = {
		.flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF,
		.sq_thread_cpu = (uint32_t)share->cpu,
		.sq_thread_idle = idle_ms,
	};
	int failed;

	*ring = (struct ring){.queue = MAP_FAILED};
	ring->fd = (int)syscall(SYS_io_uring_setup, 1, &parameters);
	if (ring->fd < 0)
		return -errno;
	failed = ring__map(ring, &parameters);
	if (failed == 0)
		failed = ring__register(ring->fd, share);
	ring->tid = ring__thread(ring->fd, share->cpu);
	if (failed == 0 && ring->tid < 0)
		failed = -ESRCH;
	if (failed == 0 && scheduling__set(ring->tid, share->scheduling) < 0)
		failed = -errno;
	if (failed < 0)
		ring__stop(ring);
	else
		ring__keep(ring);
	return failed;
}

void ring__stop(struct ring *ring)
{
	if (ring->queue != MAP_FAILED)
		munmap(ring->queue, ring->size);
	close(ring->fd);
	ring->fd = -1;
}

void ring__keep(struct ring *ring)
{
	uint32_t tail = *ring->tail;

	/* If the last one is still queued the thread has work anyway. */
	if (__atomic_load_n(ring->head, __ATOMIC_ACQUIRE) == tail)
		__atomic_store_n(ring->tail, tail + 1, __ATOMIC_RELEASE);
	/* The thread sets the flag, then reads the tail, and then sleeps. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(ring->flags, __ATOMIC_RELAXED) & IORING_SQ_NEED_WAKEUP)
		syscall(SYS_io_uring_enter, ring->fd, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
}

int ring__plain(const struct share *share)
{
	struct io_uring_params parameters = {0};
	int fd = (int)syscall(SYS_io_uring_setup, 1, &parameters);
	int failed;

	if (fd < 0)
		return -errno;
	failed = ring__register(fd, share);
	if (failed < 0) {
		close(fd);
		return failed;
	}
	return fd;
}

void ring__poll(int fd)
{
	struct __kernel_timespec timeout = {.tv_nsec = 1000};
	struct io_uring_getevents_arg argument = {.ts = (uint64_t)(uintptr_t)&timeout};

	syscall(SYS_io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
		&argument, sizeof argument);
}
