/*
 * bench: measures the engine's own costs; parts of nines-engine-bench.
 */
#ifndef NINES_BENCH_H
#define NINES_BENCH_H

#include "role/trial.h"

#include <jansson.h>

enum { SWITCH_BENCH_ROUNDS = 5000 };

/* Measures the time in nanoseconds that a packet of 60 bytes takes in the switch, its copy
 * included, by number of ports and addresses: the fastest and the median of many short rounds. -1,
 * with a message on stderr. */
int bench_switch(json_t **out);

/* The memory port of the loop: both of its ends. */
struct port_config bench_loop_config(void);

/* Options of the loop; 0 or NULL turns one off. */
struct bench_loop_options {
	int cpu; /* -1: any */
	uint64_t duration_ns;
	const char *sent, *received; /* files for a record of every packet */
	const char *arrivals; /* as in trial_config */
	uint32_t ordinary, notices; /* likewise */
};

/* Stamps, sends, receives, checks and records as fast as one core can. The trial has ended
 * when it returns; bench_loop_free frees it. -errno, with a message on stderr. */
int bench_loop(const struct bench_loop_options *options, struct trial **out);
void bench_loop_free(struct trial *t);
double bench_loop_pps(const struct trial *t);

/* Nanoseconds a packet in the fastest block of time: that which others took least of. */
double bench_loop_least_ns(const struct trial *t);

/* The loop without and with a recording of every packet, alternately. `argv` has a folder on the
 * disk to record to, and optionally the CPU, seconds per turn, and rounds. -errno, with a message
 * on stderr. */
int bench_recording(int argc, char **argv, json_t **out);

/* The loop without and with announcements of slow and of ordinary packets, alternately. `argv`
 * optionally has the CPU, seconds per turn, and rounds. -errno, with a message on stderr. */
int bench_notices(int argc, char **argv, json_t **out);

/* The loop without and with the arrivals of every packet in memory, alternately. Arguments as those of
 * bench_notices. -errno, with a message on stderr. */
int bench_arrivals(int argc, char **argv, json_t **out);

#endif
