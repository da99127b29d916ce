/* packet_socket: AF_PACKET sockets as raw and ring use them: one that only
 * receives what is for the port, one that only sends, and a plug. */
#ifndef NINES_PACKET_SOCKET_H
#define NINES_PACKET_SOCKET_H

#include "port/port.h"

/* -errno; `what` says what failed. */
int packet_socket_rx(struct port *port, int ifindex, int *fd, const char **what);
int packet_socket_tx(struct port *port, int ifindex, int *fd, const char **what);

/* Begins to receive: until then no packet reaches the socket, so that a ring can
 * be set up first. */
int packet_socket_bind(int fd, int ifindex, uint16_t protocol);

/* A UDP socket on the port's UDP port that takes and drops every packet: the
 * kernel sees what AF_PACKET sees, and would answer each with an ICMP error. */
int packet_socket_plug(struct port *port);

/* Packets dropped since the last call because the queue was full. */
uint64_t packet_socket_drops(int fd);

#endif
