/*
 * announce: says where a port's address is, once before a trial. Behind a kernel
 * interface nobody asks either, for labs have static neighbours; but a receiver that
 * goes past the kernel never sends anything, so a learning switch would flood every
 * packet of the trial to it, and to all others.
 */
#ifndef NINES_ANNOUNCE_H
#define NINES_ANNOUNCE_H

#include "port/port.h"

/* Sends an ARP announcement (RFC 5227, section 2.3) if the port's device is not the
 * kernel's. Control thread, when the port is started and connected. 0, or -errno. */
int announce(struct port *port);

#endif
