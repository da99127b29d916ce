/*
 * bench: what the engine itself costs; parts of nines-engine-bench.
 */
#ifndef NINES_BENCH_H
#define NINES_BENCH_H

#include <jansson.h>

enum { SWITCH_BENCH_ROUNDS = 5000 };

/* Nanoseconds that a packet of 60 bytes takes in the switch, its copy included, by
 * number of ports and addresses: the fastest and the median of many short rounds. -1,
 * with a message on stderr. */
int bench_switch(json_t **out);

#endif
