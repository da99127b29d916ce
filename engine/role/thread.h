/* thread: the code around every measuring thread's loop. */
#ifndef NINES_THREAD_H
#define NINES_THREAD_H

#include "port/port.h"
#include "stats/gaps.h"

#include <pthread.h>
#include <stdint.h>

/*
 * Call once, before any other thread starts. Notes the policy that the process was started with (by
 * chrt or nines), which is meant for packet threads. If it is a real-time policy, this thread, and
 * all threads that it makes except by thread_start, get one priority more. Otherwise, on a shared
 * CPU, a spinning packet thread would lock out for ever the thread that could stop it, and DPDK's
 * threads, which set devices up. The highest priority has none above it. -errno.
 */
int thread_init(void);

/* Starts body(arg) on a CPU (-1: any), with the policy for packets. -errno with a
 * message. */
int thread_start(pthread_t *thread, int cpu, void *(*body)(void *), void *arg, char *error,
		 size_t size);

/* First thing in the thread: names it and makes its timers exact. Returns the tid. */
int thread_begin(const char *name);

/* How the kernel schedules this thread: "SCHED_FIFO 1", "SCHED_OTHER, nice 0". */
void thread_scheduling(char *text, size_t size);

/* How often this thread got a CPU, and how long it was runnable without one before. */
struct thread_runs {
	uint64_t count, delay_ns;
};

/* Where the kernel reports them for the calling thread, which closes it; -1: it does not. */
int thread_runs_open(void);

/* Of the thread's whole life; zeros if the kernel does not report it. */
struct thread_runs thread_runs_read(int fd);
struct thread_runs thread_runs(void);

/* Since an earlier moment. */
struct thread_runs thread_runs_since(struct thread_runs begin);

/* Keeps every CPU out of deep sleep until closed: -errno or the descriptor. */
int thread_hold_awake(void);

/* How the thread waits, given its ports: it spins if any of them does. */
enum port_wait thread_wait(struct port *const *ports, unsigned count);

/* Whether no port has packets already: each then announces its next (port_may_sleep). */
bool thread_may_sleep(struct port *const *ports, unsigned count);

/* A thread has at most this many ports. */
enum { THREAD_PORTS_MAX = 64 };

/* Sleeps until a port is ready, `stop_fd` is readable, or timeout_ns is over (THREAD_NO_TIMEOUT:
 * never); 0 when it timed out. */
int thread_sleep(struct port *const *ports, unsigned count, struct port *want_tx, int stop_fd,
		 uint64_t timeout_ns);

#define THREAD_NO_TIMEOUT UINT64_MAX

/* A busy polling thread goes to sleep after this time without a packet. */
enum { THREAD_BUSY_POLL_NS = 50000 };

#endif
