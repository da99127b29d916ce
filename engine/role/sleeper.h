/*
 * sleeper: how a thread waits for packets after it has found none.
 *
 * If a thread should poll before it sleeps (PORT_BUSY_POLL), and its socket knows the NAPI instance
 * that its packets come through, the sleep is an epoll_wait that polls that instance first
 * (EPIOCSPARAMS, Linux 6.9). On an interface whose interrupts may be suspended (per-NAPI
 * irq-suspend-timeout, 6.13) they then stay off from the first packet until an epoll_wait finds
 * none: Documentation/networking/napi.rst, "IRQ suspension". All other threads sleep in ppoll: see
 * thread_sleep.
 */
#ifndef NINES_SLEEPER_H
#define NINES_SLEEPER_H

#include "port/port.h"

#include <stdint.h>

/* Belongs to one thread, which opens, uses and closes it. */
struct sleeper {
	struct port *const *ports;
	unsigned count;
	int stop_fd;
	int epoll_fd; /* -1: none, or not available */
	bool polled; /* packets came through a NAPI instance that epoll can poll */
	uint64_t polls; /* sleeps that began by polling */
};

/* The caller keeps `ports` valid until sleeper_close; some may be NULL. */
void sleeper_open(struct sleeper *sleeper, struct port *const *ports, unsigned count, int stop_fd);
void sleeper_close(struct sleeper *sleeper);

/* Whether the next sleep polls by itself, so that the caller need not poll before it. It may poll
 * for THREAD_BUSY_POLL_NS however short its timeout is. */
static inline bool sleeper_polls(const struct sleeper *sleeper)
{
	return sleeper->polled;
}

/* Like thread_sleep, but does not wait for room to send. */
int sleeper_sleep(struct sleeper *sleeper, uint64_t timeout_ns);

#endif
