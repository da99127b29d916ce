/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of nines-poller share. */
#ifndef NINES_POLLER_H
#define NINES_POLLER_H

#include "statistics.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* From one look at the threads to the next. */
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

/* options__parse returns 0, or -1 after it has said what is wrong. */
int options__parse(struct options *options, int argc, char **argv);

/* netns__enter has the calling thread be in the network namespace of a path, until
 * netns__leave. -1 with errno. */
int netns__enter(const char *path, int *home);
void netns__leave(int home);

/* napi__gone is the first of the instances to poll that the kernel has no more; 0 if there
 * is none, or it does not tell. */
unsigned napi__gone(const struct options *options);

/* stale__look is called each tick, and looks each second. True from when an instance is
 * gone: then the devices have been given back to their interrupts, and all threads'
 * statistics say so; they are not to poll any more. */
bool stale__look(const struct options *options, struct statistics *statistics);

/* thread__pin binds a thread (0: the caller) to a CPU. -1 with errno. */
int thread__pin(pid_t tid, int cpu);

/* thread__schedule sets "fifo:50", "other:-5", "idle:0", … of a thread. -1 with errno. */
int thread__schedule(pid_t tid, const char *scheduling);

/* poll__main polls until it is told to end, or its namespace is gone. */
int poll__main(const struct options *options);

/* epoll__main does so by epoll. */
int epoll__main(const struct options *options, struct statistics *statistics);

/* feed__sockets makes a socket for each instance, which has received by it; 0 or an exit
 * code. */
int feed__sockets(const struct options *options, int *sockets);

/* device__open opens the polled devices in their namespace; 0 or an exit code. */
int device__open(const struct options *options);

/* device__packets is how many they have received, in all. */
uint64_t device__packets(void);

/* device__give has what they receive raise interrupts, as before they were polled, or not. */
void device__give(bool to_interrupts);

/* awake__main keeps CPUs from going idle until it is told to end. */
int awake__main(const struct options *options);

/* guard__main watches threads of the kernel that poll until it is told to end. */
int guard__main(const struct options *options);

/* thread__step_aside keeps the caller off the polling CPUs, where there are others, and
 * lets it run above a real-time policy that polls. -1 with errno. */
int thread__step_aside(const struct options *options);

/* thread__join puts the process into the control group of a file cgroup.procs or tasks. */
int thread__join(const char *file);

/* watch__start remembers which namespace a path is, and keeps SIGTERM and SIGINT for
 * watch__tick. The namespace is not kept: nothing of it is held open. -1 with errno. */
int watch__start(const char *netns);

/* watch__tick waits for the next tick; false if it is time to end, because a signal said so
 * or the namespace is gone. */
bool watch__tick(const char *netns);

/* poller__fail prints "nines-poller: WHAT WHICH: errno's text", returns EXIT_FAILED. */
int poller__fail(const char *what, const char *which);

/* poller__ready says on standard output that it runs, and closes it. */
int poller__ready(void);

#endif
