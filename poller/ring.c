// SPDX-License-Identifier: Apache-2.0
/*
 * Polling by io_uring with static NAPI ids (Linux 6.13, io_uring/napi.c).
 *
 * A ring with IORING_SETUP_SQPOLL has a kernel thread, iou-sqp-PID, that looks for
 * submissions all the time; it also polls the NAPI instances that the ring was told,
 * once each in every round (io_sq_thread and io_napi_sqpoll_busy_poll). We never submit
 * anything: the thread is all that is wanted. It stays within what the scheduler lets it
 * have, and goes on polling after others had its CPU. io_uring_enter(2), which polls too,
 * does not: once it was preempted it sleeps until its timeout (NAPI_F_END_ON_RESCHED in
 * napi_busy_loop_rcu, net/core/dev.c).
 *
 * The constants are from include/uapi/linux/io_uring.h of 6.13; distributions' headers
 * are older.
 */
#define _GNU_SOURCE
#include "poller.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* The thread goes to sleep after so long without a submission, and is woken by ring__wake
 * well before. Not the largest number: the kernel turns it into ticks of 32 bits. */
#define RING_IDLE_MS 1000000000u

static int ring__napi(int fd, uint8_t opcode, uint32_t parameter)
{
	/* With a time of 0 the thread would not poll; how long it is does not matter to it. */
	struct ring_napi napi = {.busy_poll_to = 1000,
				 .prefer_busy_poll = 1,
				 .opcode = opcode,
				 .op_param = parameter};

	return syscall(SYS_io_uring_register, fd, RING_REGISTER_NAPI, &napi, 1) < 0 ? -errno : 0;
}

/* The line "SqThread:" of the ring's file. */
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

/* The thread's id. Until it has first run, the kernel gives its creator's (task_pid in
 * io_uring/sqpoll.c), and on a busy CPU that is a while. */
static pid_t ring__thread(int fd)
{
	for (int tries = 0; tries < 10000; tries++) {
		pid_t tid = ring__read_thread(fd);

		if (tid <= 0)
			return -1;
		if (tid != gettid())
			return tid;
		usleep(1000);
	}
	return -1;
}

void ring__wake(int fd)
{
	syscall(SYS_io_uring_enter, fd, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
}

int ring__start(const unsigned *napi, int napis, int cpu, int *fd)
{
	struct io_uring_params parameters = {
		.flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF,
		.sq_thread_cpu = (uint32_t)cpu,
		.sq_thread_idle = RING_IDLE_MS,
	};
	int ring = (int)syscall(SYS_io_uring_setup, 1, &parameters);
	int failed;
	pid_t tid;

	if (ring < 0)
		return -errno;
	failed = ring__napi(ring, RING_NAPI_REGISTER_OP, RING_NAPI_TRACKING_STATIC);
	for (int i = 0; i < napis && failed == 0; i++)
		failed = ring__napi(ring, RING_NAPI_STATIC_ADD_ID, napi[i]);
	tid = ring__thread(ring);
	if (failed == 0 && tid <= 0)
		failed = -ESRCH;
	if (failed < 0) {
		close(ring);
		return failed;
	}
	*fd = ring;
	return tid;
}
