/* packet_socket: AF_PACKET sockets as raw and ring use them: one that receives only frames for the
 * port, one that only sends, and a plug. */
#ifndef NINES_PACKET_SOCKET_H
#define NINES_PACKET_SOCKET_H

#include "port/kernel_filter.h"
#include "port/port.h"

/* -errno; `what` says what failed. */
int packet_socket_rx(struct port *port, int ifindex, int *fd, const char **what);
/* Receives frames to every address while the socket is open. */
int packet_socket_promiscuous(int fd, int ifindex);

int packet_socket_tx(struct port *port, int ifindex, int *fd, const char **what);
/* A socket that sends bursts for the kernel to segment, each after a virtio header. */
int packet_socket_segments(struct port *port, int ifindex, int *fd, const char **what);

/* Begins to receive: until then no packet reaches the socket, so that a ring can
 * be set up first. */
int packet_socket_bind(int fd, int ifindex, uint16_t protocol);

/* Keeps the kernel's own stack from handling frames that AF_PACKET takes, and from answering them
 * with ICMP errors: a program after the taps, or before Linux 6.6 a UDP socket that takes every
 * packet and drops it. Failure of either is not fatal: a note reports it. */
struct packet_socket_plug {
	struct kernel_filter *filter;
	int fd;
};

void packet_socket_plug(struct packet_socket_plug *plug, struct port *port, int ifindex);
void packet_socket_unplug(struct packet_socket_plug *plug);

/* Packets dropped since the last call because the queue was full. */
uint64_t packet_socket_drops(int fd);

#endif
