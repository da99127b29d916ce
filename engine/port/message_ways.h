/*
 * message_ways: which way the packets of a UDP socket came, where no BPF program may read their headers:
 * the kernel tells a socket the TTL and the addresses beside a message that is asked for them. That costs
 * time, so it is asked only of the packets of the warm-up, and of probes. No socket is told MAC addresses.
 *
 *   looking ── first measured packet ─▸ done ── first look that finds none ─▸ the socket is told no more
 */
#ifndef NINES_MESSAGE_WAYS_H
#define NINES_MESSAGE_WAYS_H

#include "packet/signature.h"
#include "port/port.h"

struct message_ways;

/* For one socket; NULL without memory. */
struct message_ways *message_ways_new(int fd, const struct port_config *c);
void message_ways_free(struct message_ways *w);

/* Forgets what was counted, and looks again. -errno. Control thread. */
int message_ways_begin(struct message_ways *w);

/* Whether the next messages are to be received by message_ways_receive. */
bool message_ways_looks(const struct message_ways *w);

/* As recvmmsg, for at most PORT_BURST messages into pieces of memory, each with its length. */
int message_ways_receive(struct message_ways *w, struct iovec *into, unsigned max,
			 unsigned *lengths);

/* No packet waits: a good time to tell the kernel that the rest need nothing beside them. */
void message_ways_idle(struct message_ways *w);

void message_ways_read(const struct message_ways *w, struct signatures *out);

#endif
