/*
 * service: forwards and reflects until stopped.
 *
 *   rx_burst -> rewrite addresses in place -> tx_forward on the other port -> rx_release
 *
 * forward works between two ports, in both directions; reflect sends each packet back.
 * What the other port does not take at once is dropped and counted: a queue here
 * would only add latency. One pinned thread.
 */
#ifndef NINES_SERVICE_H
#define NINES_SERVICE_H

#include "port/port.h"
#include "stats/gaps.h"
#include "stats/interruptions.h"

#include <pthread.h>
#include <stdatomic.h>

struct service {
	struct port *ports[2]; /* the second is NULL for reflect */
	int cpu, tid;
	char scheduling[32];
	struct gaps gaps;
	struct interruptions *interruptions; /* NULL: it lists none */
	uint64_t *tx_full[2], *foreign[2], *tx_failed[2];
	uint64_t start_ticks;
	pthread_t thread;
	int stop_fd;
	atomic_bool stop;
};

/* ports[1] is NULL for reflect. -errno with a message. */
int service_start(struct service **out, struct port *const ports[2], int cpu, char *error,
		  size_t size);

/* Lists interruptions from now on, up to `room`; once in its life: -EALREADY, -ENOMEM. */
int service_list(struct service *s, uint32_t room);

/* Stops the thread; the counters stay. */
void service_stop(struct service *s);
void service_free(struct service *s);

#endif
