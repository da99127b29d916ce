/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of nines-poller share. */
#ifndef NINES_POLLER_H
#define NINES_POLLER_H

#include "../../programs/nines-init/scheduling.h"
#include "statistics.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The time between two looks at the threads. */
#define POLLER_TICK_NS 100000000

#define POLLER_MAX_NAPIS   256
#define POLLER_MAX_CGROUPS 16
#define POLLER_MAX_DEVICES 64

enum {
	POLLER_EXIT_FAILED = 1,
	POLLER_EXIT_USAGE = 2,
	POLLER_EXIT_LACKS = 3, /* the kernel does not have it */
};

struct options {
	const char *mechanism;
	const char *netns;
	const char *scheduling;
	const char *statistics;
	const char *token;
	unsigned napi[POLLER_MAX_NAPIS];
	int napis;
	int cpu[STATISTICS_THREADS];
	int cpus;
	const char *feed[POLLER_MAX_DEVICES];
	int feeds;
	const char *device[POLLER_MAX_DEVICES];
	int devices;
	const char *cgroup[POLLER_MAX_CGROUPS];
	int cgroups;
	int longest_us; /* 0: not adaptive */
	struct {
		pid_t tid;
		int cpu;
	} thread[STATISTICS_THREADS];
	int threads;
};

/* options__parse returns 0, or -1 after printing an error. */
int options__parse(struct options *options, int argc, char **argv);

/* netns__enter moves the calling thread to the network namespace of a path, until
 * netns__leave. -1 with errno. */
int netns__enter(const char *path, int *home);
void netns__leave(int home);

/* napi__gone returns the first of the polled instances that no longer exists; 0 if all do,
 * or if the kernel cannot tell. */
unsigned napi__gone(const struct options *options);

/* stale__look is called each tick, and looks each second. It returns true once an instance
 * is gone: it has then given the devices back to their interrupts and marked all threads'
 * statistics, and the threads must stop polling. */
bool stale__look(const struct options *options, struct statistics *statistics);

/* thread__pin binds a thread (0: the caller) to a CPU. -1 with errno. */
int thread__pin(pid_t tid, int cpu);

/* poll__main polls until it is told to end, or its namespace is gone. */
int poll__main(const struct options *options);

/* epoll__main does the same by epoll. */
int epoll__main(const struct options *options, struct statistics *statistics);

/* feed__sockets makes a socket for each instance, which has received through it; 0 or an
 * exit code. */
int feed__sockets(const struct options *options, int *sockets);

/* device__open opens the polled devices in their namespace; 0 or an exit code. */
int device__open(const struct options *options);

/* device__packets is the number of packets that they have received in total. */
uint64_t device__packets(void);

/* device__give turns the devices' interrupts on, as before polling, or defers them again. */
void device__give(bool to_interrupts);

/* awake__main keeps CPUs from going idle until it is told to end. */
int awake__main(const struct options *options);

/* guard__main watches polling kernel threads until it is told to end. */
int guard__main(const struct options *options);

/* thread__step_aside keeps the caller off the polling CPUs, if there are others, and gives
 * it a priority above a real-time poller. -1 with errno. */
int thread__step_aside(const struct options *options);

/* thread__join puts the process into the control group of a file cgroup.procs or tasks. */
int thread__join(const char *file);

/* watch__start remembers the namespace of a path, and reserves SIGTERM and SIGINT for
 * watch__tick. It keeps nothing of the namespace open. -1 with errno. */
int watch__start(const char *netns);

/* watch__tick waits for the next tick; false if it is time to end, because of a signal or
 * because the namespace is gone. */
bool watch__tick(const char *netns);

/* poller__fail prints "nines-poller: WHAT WHICH: errno's text", returns EXIT_FAILED. */
int poller__fail(const char *what, const char *which);

/* poller__ready prints "ok" to standard output, and closes it. */
int poller__ready(void);

#endif
