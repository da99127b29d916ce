/*
 * announce: announces a port's address once before a trial. Labs have static neighbours, so no node
 * asks, and a receiver never sends by itself. Without this, a learning switch would flood every
 * packet of the trial to the receiver and to all other ports.
 */
#ifndef NINES_ANNOUNCE_H
#define NINES_ANNOUNCE_H

#include "port/port.h"

/* Sends a gratuitous ARP (RFC 5944, section 4.6): through the port if its device is outside the
 * kernel, else through a separate socket. Called by the control thread when the port is started and
 * connected. 0, or -errno: -EPERM and -EACCES if the process may not send frames, which backends
 * such as udp do not need. */
int announce(struct port *port);

#endif
