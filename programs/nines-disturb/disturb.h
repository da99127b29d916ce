/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of nines-disturb share. Times are nanoseconds of CLOCK_MONOTONIC. */
#ifndef NINES_DISTURB_H
#define NINES_DISTURB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DISTURB_EXIT_FAILED 1
#define DISTURB_EXIT_USAGE  2
#define DISTURB_EXIT_HOST   3 /* the host lacks something */

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

/* How the begins of injections are spaced. */
enum pattern {
	PATTERN_CONSTANT, /* evenly */
	PATTERN_POISSON, /* exponentially */
	PATTERN_BURSTS /* several close together, then none for long */
};

/* What the command line asks for. */
struct request {
	int cpu; /* the one to disturb; -1: a process, or any */
	int from; /* the CPU that disturbs, for remote kinds; -1: any other */
	pid_t pid; /* the process to disturb; 0: none */
	const char *policy;
	int priority;
	uint64_t period_ns, length_ns; /* the period is an average where the pattern is random */
	enum pattern pattern;
	uint64_t count; /* injections; 0: no limit */
	uint64_t duration_ns; /* 0: no limit */
	int ready; /* a descriptor to write to when ready; -1: none */
};

/* One injection as it happened. */
struct injection {
	uint64_t begin_ns, end_ns;
	uint64_t busy_ns; /* CPU time that it took from the disturbed CPU; 0: unknown */
	uint64_t events; /* forks, packets, interrupts, flushes, timers */
};

/*
 * A kind of disturbance. setup and inject return 0, or an exit code after printing their
 * own message; teardown may be NULL. inject lasts about length_ns and fills in what it did;
 * begin_ns is already set to the current time.
 */
struct kind {
	const char *name, *summary;
	bool remote; /* done from another CPU than the disturbed one */
	bool needs_cpu; /* needs --cpu, or --pid where it takes a process */
	bool needs_pid; /* needs --pid */
	bool takes_pid;
	int (*setup)(const struct request *request);
	int (*inject)(const struct request *request, struct injection *injection);
	void (*teardown)(void);
};

extern const struct kind kind_spin, kind_fork, kind_softirq, kind_ipi, kind_tlb, kind_timers,
	kind_stop;

/* options_parse parses the command line. It returns NULL and an exit code if there is
 * nothing more to do. */
const struct kind *options_parse(int argc, char **argv, struct request *r, int *code);

/* failed prints what did not work, with the reason from errno, and returns an exit code: 3
 * if the kernel lacks it, otherwise 1. */
int failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The clock. */
uint64_t clock_now(void);
uint64_t clock_thread_cpu(void);
/* clock_sleep_until returns early when the program must end. */
void clock_sleep_until(uint64_t ns);
bool clock_parse(const char *text, uint64_t *ns);

/* The schedule. */
bool schedule_parse(const char *name, enum pattern *pattern);
/* schedule_next is when the injection after the one of begun_ns begins. */
uint64_t schedule_next(const struct request *r, uint64_t begun_ns);

/* The end of the program: stopping is true after SIGTERM or SIGINT. Both stay blocked from
 * stopping_init on. */
void stopping_init(void);
bool stopping(void);

/* Where a thread runs. */
int placement_pin(int cpu);
/* placement_avoid allows the thread all its CPUs but one; 1 if there is no other. */
int placement_avoid(int cpu);
/* placement_avoid_process avoids the CPUs of a process, if others are left. */
void placement_avoid_process(pid_t pid);
int placement_schedule(const char *policy, int priority);

/* The receive filter that keeps a softirq busy; see softirq_filter.c. */
struct softirq_times {
	uint64_t begin_ns, end_ns, busy_ns, packets;
};
/* softirq_filter_attach attaches the filter to a UDP socket and maps its times; -1 with errno. */
int softirq_filter_attach(int socket, volatile struct softirq_times **times);

#endif
