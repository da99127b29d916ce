/* thread: what every measuring thread does around its loop. */
#ifndef NINES_THREAD_H
#define NINES_THREAD_H

#include "port/port.h"
#include "stats/gaps.h"

#include <pthread.h>
#include <stdint.h>

/*
 * Once, before any other thread: notes the policy that the process was started with (chrt
 * does that, or nines), which is meant for the packets. Where it is a real-time one, this
 * thread and what it makes but by thread_start get one priority more: a packet thread that
 * spins would else lock out for ever, on a CPU that they share, the thread that could stop
 * it, and DPDK's, which sets devices up. Above the highest there is none. -errno.
 */
int thread_init(void);

/* Starts body(arg) on a CPU (-1: any), with the policy that is for packets. -errno with a
 * message. */
int thread_start(pthread_t *thread, int cpu, void *(*body)(void *), void *arg, char *error,
		 size_t size);

/* First thing in the thread: names it and makes its timers exact. Returns the tid. */
int thread_begin(const char *name);

/* How the kernel schedules this thread: "SCHED_FIFO 1", "SCHED_OTHER, nice 0". */
void thread_scheduling(char *text, size_t size);

/* How long this thread was runnable without a CPU; 0 where the kernel does not say. */
uint64_t thread_run_delay_ns(void);

/* Keeps every CPU out of deep sleep until closed: -errno or the descriptor. */
int thread_hold_awake(void);

/* How the thread waits, from its ports: spin if any of them does. */
enum port_wait thread_wait(struct port *const *ports, unsigned count);

/* Sleeps until a port is ready, `stop_fd` is readable, or timeout_ns is over;
 * 0 when it timed out. */
int thread_sleep(struct port *const *ports, unsigned count, struct port *want_tx, int stop_fd,
		 uint64_t timeout_ns);

/* After how long without a packet a busy polling thread goes to sleep. */
enum { THREAD_BUSY_POLL_NS = 50000 };

#endif
