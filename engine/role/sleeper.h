/*
 * sleeper: how a thread waits for packets, or for a time, after it has found none.
 *
 * A thread that blocks, and also sends at times, sleeps in epoll with a timerfd for the next time.
 * The timeout of ppoll or epoll_pwait is a timer that the call sets and a packet cancels, and the
 * CPU's own timer is set again before the thread runs. In a virtual machine that goes through the
 * hypervisor: half of a round trip took 28 instead of 24 us. The timerfd is set once for each time,
 * and stays set when a packet comes before. It is taken back only while the thread waits awake for
 * its next packet, so that the interrupt does not come while that is sent.
 *
 * If a thread should poll before it sleeps (PORT_BUSY_POLL), and its socket knows the NAPI instance
 * that its packets come through, the sleep is an epoll_wait that polls that instance first
 * (EPIOCSPARAMS, Linux 6.9). On an interface whose interrupts may be suspended (per-NAPI
 * irq-suspend-timeout, 6.13) they then stay off from the first packet until an epoll_wait finds
 * none: Documentation/networking/napi.rst, "IRQ suspension".
 *
 * All other threads sleep in ppoll: see thread_sleep. They have long timeouts or none, and to wake a
 * thread from ppoll costs the sender less: over UDP sockets it sent 450 thousand packets a second to a
 * sleeping receiver, and 390 to one in epoll.
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
	int timer_fd; /* -1: none */
	uint64_t timer_ns; /* when it rings, of CLOCK_MONOTONIC; 0: not set */
	bool polled; /* packets came through a NAPI instance that epoll can poll */
	uint64_t polls; /* sleeps that began by polling */
};

/* The caller keeps `ports` valid until sleeper_close; some may be NULL. `timed`: the thread also
 * sends packets at their times. */
void sleeper_open(struct sleeper *sleeper, struct port *const *ports, unsigned count, int stop_fd,
		  bool timed);
void sleeper_close(struct sleeper *sleeper);

/* Whether the next sleep polls by itself, so that the caller need not poll before it. It may poll
 * for THREAD_BUSY_POLL_NS however short its timeout is. */
static inline bool sleeper_polls(const struct sleeper *sleeper)
{
	return sleeper->polled;
}

/* Takes a timer back that would still ring. A thread calls it if it stays awake until it sends: the
 * timer of its last sleep was set for that very moment. */
void sleeper_stay_awake(struct sleeper *sleeper);

/* Like thread_sleep, but does not wait for room to send. A timed or polling one needs a timeout. */
int sleeper_sleep(struct sleeper *sleeper, uint64_t timeout_ns);

#endif
