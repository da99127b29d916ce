/*
 * announce: says where a port's address is, once before a trial. Labs have static
 * neighbours, so that nobody asks, and a receiver never sends anything by itself: a
 * learning switch would flood every packet of the trial to it, and to all others.
 */
#ifndef NINES_ANNOUNCE_H
#define NINES_ANNOUNCE_H

#include "port/port.h"

/* Sends a gratuitous ARP (RFC 5944, section 4.6): through the port where its device is
 * not the kernel's, else beside it. Control thread, when the port is started and
 * connected. 0, or -errno; -EPERM and -EACCES where a backend works without the right to
 * send frames, as udp does. */
int announce(struct port *port);

#endif
