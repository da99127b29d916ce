/*
 * service: forwards and reflects until stopped.
 *
 *   rx_burst -> rewrite addresses in place -> tx_forward on the other port -> rx_release
 *
 * forward works between two ports, in both directions; reflect sends each packet back. What the
 * other port does not take at once is dropped and counted: a queue here would only add latency. One
 * pinned thread does so for all ports: of both sides of a duet, so that they need no CPU each, whose
 * times would differ.
 */
#ifndef NINES_SERVICE_H
#define NINES_SERVICE_H

#include "port/port.h"
#include "stats/gaps.h"
#include "stats/interruptions.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SERVICE_SIDES = 2, SERVICE_PORTS_MAX = 2 * SERVICE_SIDES };

/* What is received by one port, and leaves by another, or by the same. */
struct lane {
	struct port *from, *to;
	uint64_t work_ticks; /* a packet */
	uint64_t *foreign, *tx_full, *tx_failed;
};

struct service_config {
	struct port *ports[SERVICE_PORTS_MAX];
	unsigned port_count;
	bool reflects; /* else two neighbours are a pair, between which it forwards */
	uint64_t work_ticks[SERVICE_SIDES]; /* how long a packet of each takes besides */
	int cpu; /* -1: not pinned */
};

struct service {
	struct service_config config;
	struct lane lanes[SERVICE_PORTS_MAX]; /* one for each port */
	int tid;
	char scheduling[32];
	struct gaps gaps;
	struct interruptions *interruptions; /* NULL: it lists none */
	uint64_t start_ticks;
	pthread_t thread;
	int stop_fd;
	atomic_bool stop;
};

/* -errno with a message. */
int service_start(struct service **out, const struct service_config *config, char *error,
		  size_t size);

/* Lists interruptions from now on, up to `room`; once in its life: -EALREADY, -ENOMEM. */
int service_list(struct service *s, uint32_t room);

/* Stops the thread; the counters stay. */
void service_stop(struct service *s);
void service_free(struct service *s);

#endif
