/*
 * bench: what the engine itself costs; parts of nines-engine-bench.
 */
#ifndef NINES_BENCH_H
#define NINES_BENCH_H

#include "role/trial.h"

#include <jansson.h>

enum { SWITCH_BENCH_ROUNDS = 5000 };

/* Nanoseconds that a packet of 60 bytes takes in the switch, its copy included, by
 * number of ports and addresses: the fastest and the median of many short rounds. -1,
 * with a message on stderr. */
int bench_switch(json_t **out);

/* The port of the loop in memory: both of its ends. */
struct port_config bench_loop_config(void);

/* Stamps, sends, receives, checks and records as fast as one core can, and has a record
 * of every packet written into the files, if they are named. The trial has ended when it
 * returns; bench_loop_free frees it. -errno, with a message on stderr. */
int bench_loop(int cpu, uint64_t duration_ns, const char *sent, const char *received,
	       struct trial **out);
void bench_loop_free(struct trial *t);
double bench_loop_pps(const struct trial *t);

/* The loop without and with a recording of every packet, in turns. `argv` has a folder on
 * the disk to record to, and optionally the CPU, seconds a turn, and rounds. -errno, with
 * a message on stderr. */
int bench_recording(int argc, char **argv, json_t **out);

#endif
