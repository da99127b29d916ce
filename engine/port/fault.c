/*
 * fault: a memory port that treats sent packets as bad networks do, and counts each fault, so that
 * tests can check that a receiver accounts for every packet.
 *
 * Each packet has one fate, drawn from the seed: dropped, duplicated (sent twice
 * in a row), corrupted (one bit after the Ethernet header), delayed (sent
 * delay_ns later), reordered (sent after the next packet that is sent), or none.
 *
 * `reordered` counts what a receiver sees: good packets that are delivered after a good one that
 * was sent later (RFC 4737). It is counted at delivery, from this port's own numbering, because
 * possibly no packet passes one that is held back. Packets that no other has passed at the end of a
 * trial count as fault_held.
 */
#include "clock/clock.h"
#include "packet/frame.h"
#include "port/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAULT_HELD_MAX = 4096, FAULT_BUFFER_BYTES = 9216 };

struct held {
	uint64_t number; /* of the packet, as it was sent */
	uint64_t due_ticks; /* 0: after the next packet */
	uint32_t length;
	uint8_t *data;
};

struct fault_port {
	struct port port;
	struct port *under;
	uint8_t *scratch; /* PORT_BURST buffers for the role to write to */
	struct held *held;
	uint32_t held_count;
	uint64_t number; /* of the next packet sent */
	uint64_t next_in_order; /* largest good number delivered + 1 */
	uint64_t random;
	uint64_t *dropped, *duplicated, *reordered, *corrupted, *delayed, *overflow, *still_held;
};

static struct fault_port *fault_of(struct port *port)
{
	return (struct fault_port *)port;
}

/* splitmix64 by Steele, Lea and Flood; see schedule.c. */
static uint64_t draw(struct fault_port *f)
{
	uint64_t z = (f->random += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static void fault_close(struct port *port)
{
	struct fault_port *f = fault_of(port);
	if (f->under)
		f->under->ops->close(f->under);
	for (uint32_t i = 0; f->held && i < FAULT_HELD_MAX; i++)
		free(f->held[i].data);
	free(f->held);
	free(f->scratch);
	free(f);
}

static int fault_open(const struct port_config *c, struct port **out, char *error, size_t size)
{
	int err = -ENOMEM;
	struct fault_port *f = calloc(1, sizeof *f);
	if (!f)
		return err;
	port_init(&f->port, &port_fault, c);
	f->dropped = port_drop_counter(&f->port, "fault_dropped");
	f->duplicated = port_drop_counter(&f->port, "fault_duplicated");
	f->reordered = port_drop_counter(&f->port, "fault_reordered");
	f->corrupted = port_drop_counter(&f->port, "fault_corrupted");
	f->delayed = port_drop_counter(&f->port, "fault_delayed");
	f->overflow = port_drop_counter(&f->port, "fault_overflow");
	f->still_held = port_drop_counter(&f->port, "fault_held");
	f->random = c->fault.seed;
	f->scratch = calloc(PORT_BURST, FAULT_BUFFER_BYTES);
	f->held = calloc(FAULT_HELD_MAX, sizeof *f->held);
	if (!f->scratch || !f->held)
		goto fail;
	for (uint32_t i = 0; i < FAULT_HELD_MAX; i++) {
		f->held[i].data = malloc(c->frame_bytes);
		if (!f->held[i].data)
			goto fail;
	}
	err = port_memory.open(c, &f->under, error, size);
	if (err)
		goto close;
	snprintf(f->port.mode, sizeof f->port.mode, "fault");
	*out = &f->port;
	return 0;
fail:
	snprintf(error, size, "out of memory");
close:
	fault_close(&f->port);
	return err;
}

static int fault_start(struct port *port, unsigned directions)
{
	struct fault_port *f = fault_of(port);
	f->held_count = 0;
	f->number = f->next_in_order = 0;
	return f->under->ops->start(f->under, directions);
}

/* Puts a copy into the memory port; false when it is full. */
static bool deliver(struct fault_port *f, const uint8_t *data, uint32_t length, uint64_t number,
		    bool good)
{
	struct packet p;
	if (f->under->ops->tx_acquire(f->under, &p, 1) == 0)
		return false;
	memcpy(p.data, data, length);
	p.length = length;
	f->under->ops->tx_commit(f->under, &p, 1);
	if (!good)
		return true;
	if (number >= f->next_in_order)
		f->next_in_order = number + 1;
	else
		port_count(f->reordered, 1);
	return true;
}

static void hold(struct fault_port *f, const struct packet *p, uint64_t due_ticks)
{
	if (f->held_count == FAULT_HELD_MAX || p->length > f->port.config.frame_bytes) {
		port_count(f->overflow, 1);
		return;
	}
	struct held *h = &f->held[f->held_count++];
	h->number = f->number;
	h->due_ticks = due_ticks;
	h->length = p->length;
	memcpy(h->data, p->data, p->length);
}

/* Delivers the held packets that are due; `passed` also releases the reordered ones. */
static void release_held(struct fault_port *f, bool passed)
{
	uint64_t now = f->held_count ? clock_ticks() : 0;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < f->held_count; i++) {
		struct held h = f->held[i];
		bool due = h.due_ticks ? now >= h.due_ticks : passed;
		/* If the port is full, the packet stays held. */
		if (due && deliver(f, h.data, h.length, h.number, true))
			continue;
		f->held[i] = f->held[kept]; /* swaps, so that no buffer is lost */
		f->held[kept++] = h;
	}
	f->held_count = kept;
}

static void suffer(struct fault_port *f, struct packet *p)
{
	const struct port_fault *c = &f->port.config.fault;
	double fate = (double)(draw(f) >> 11) * 0x1p-53;
	if ((fate -= c->drop) < 0) {
		port_count(f->dropped, 1);
	} else if ((fate -= c->duplicate) < 0) {
		port_count(f->duplicated, 1);
		deliver(f, p->data, p->length, f->number, true);
		/* To the receiver the second copy is a duplicate, not a reordered packet. */
		deliver(f, p->data, p->length, f->number, false);
		release_held(f, true);
	} else if ((fate -= c->corrupt) < 0) {
		uint64_t bit = draw(f) % ((uint64_t)(p->length - FRAME_ETHERNET) * 8);
		port_count(f->corrupted, 1);
		p->data[FRAME_ETHERNET + bit / 8] ^= (uint8_t)(1u << (bit % 8));
		deliver(f, p->data, p->length, f->number, false);
		p->data[FRAME_ETHERNET + bit / 8] ^= (uint8_t)(1u << (bit % 8));
	} else if ((fate -= c->delay) < 0) {
		port_count(f->delayed, 1);
		hold(f, p, clock_ticks() + clock_ns_to_ticks(&clock_global.scale, c->delay_ns) + 1);
	} else if (fate < c->reorder) {
		hold(f, p, 0);
	} else {
		deliver(f, p->data, p->length, f->number, true);
		release_held(f, true);
	}
	f->number++;
}

static unsigned fault_rx_burst(struct port *port, struct packet *burst, unsigned max)
{
	struct fault_port *f = fault_of(port);
	/* The receiver also releases held packets, for those that are delayed at the end. Only a
	 * port looped to itself has any here: its sender and receiver are one thread. */
	if (f->held_count)
		release_held(f, false);
	return f->under->ops->rx_burst(f->under, burst, max);
}

static void fault_rx_release(struct port *port, struct packet *burst, unsigned count)
{
	struct fault_port *f = fault_of(port);
	f->under->ops->rx_release(f->under, burst, count);
}

static unsigned fault_tx_acquire(struct port *port, struct packet *burst, unsigned count)
{
	struct fault_port *f = fault_of(port);
	uint32_t bytes = port->config.frame_bytes - FRAME_FCS_BYTES;
	for (unsigned i = 0; i < count; i++)
		burst[i] = (struct packet){.data = f->scratch + (size_t)i * FAULT_BUFFER_BYTES,
					   .length = bytes,
					   .capacity = bytes};
	return count;
}

static int fault_tx_commit(struct port *port, struct packet *burst, unsigned count)
{
	struct fault_port *f = fault_of(port);
	release_held(f, false);
	for (unsigned i = 0; i < count; i++) {
		/* Room for a packet and its duplicate, so that none is lost by accident. */
		struct packet room[2];
		if (f->under->ops->tx_acquire(f->under, room, 2) < 2)
			return (int)i;
		suffer(f, &burst[i]);
	}
	return (int)count;
}

static void fault_tx_release(struct port *port, struct packet *burst, unsigned count)
{
	(void)port, (void)burst, (void)count;
}

static unsigned fault_pollfds(struct port *port, struct pollfd *fds, bool want_tx)
{
	(void)port, (void)fds, (void)want_tx;
	return 0;
}

static void fault_refresh(struct port *port)
{
	struct fault_port *f = fault_of(port);
	*f->still_held = f->held_count;
}

const struct port_ops port_fault = {
	.name = "fault",
	.layer = PORT_FRAME,
	.open = fault_open,
	.close = fault_close,
	.start = fault_start,
	.rx_burst = fault_rx_burst,
	.rx_release = fault_rx_release,
	.tx_acquire = fault_tx_acquire,
	.tx_commit = fault_tx_commit,
	.tx_release = fault_tx_release,
	.tx_forward = fault_tx_commit,
	.pollfds = fault_pollfds,
	.refresh = fault_refresh,
};
