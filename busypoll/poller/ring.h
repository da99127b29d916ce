/* SPDX-License-Identifier: Apache-2.0 */
/* Rings of io_uring that poll NAPI instances; see ring.c. */
#ifndef NINES_POLLER_RING_H
#define NINES_POLLER_RING_H

#include "poller.h"

/* What one CPU polls. */
struct share {
	unsigned napi[POLLER_MAX_NAPIS];
	int napis;
	int cpu;
	const char *scheduling;
};

/* A ring with a kernel thread. */
struct ring {
	int fd;
	pid_t tid;
	uint8_t *queue;
	size_t size;
	uint32_t *head;
	uint32_t *tail;
	uint32_t *flags;
};

/* ring__start starts a kernel thread that polls, until it gets no ring__keep for idle_ms.
 * Returns 0, or -errno: EINVAL if the kernel does not support it. */
int ring__start(struct ring *ring, const struct share *share, unsigned idle_ms);

/* ring__keep keeps the thread from going to sleep, or wakes it. */
void ring__keep(struct ring *ring);

/* ring__stop ends the thread. */
void ring__stop(struct ring *ring);

/* ring__plain makes a ring without a thread; ring__poll polls with it, once. -errno. */
int ring__plain(const struct share *share);
void ring__poll(int fd);

#endif
