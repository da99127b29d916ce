/* packet_socket: AF_PACKET sockets as raw and ring use them: one that only
 * receives what is for the port, one that only sends, and a plug. */
#ifndef NINES_PACKET_SOCKET_H
#define NINES_PACKET_SOCKET_H

#include "port/kernel_filter.h"
#include "port/port.h"

/* -errno; `what` says what failed. */
int packet_socket_rx(struct port *port, int ifindex, int *fd, const char **what);
/* Frames to every address, for as long as the socket is open. */
int packet_socket_promiscuous(int fd, int ifindex);

int packet_socket_tx(struct port *port, int ifindex, int *fd, const char **what);
/* One that sends bursts for the kernel to segment, each behind a virtio header. */
int packet_socket_segments(struct port *port, int ifindex, int *fd, const char **what);

/* Begins to receive: until then no packet reaches the socket, so that a ring can
 * be set up first. */
int packet_socket_bind(int fd, int ifindex, uint16_t protocol);

/* Keeps the kernel's own stack from handling, and answering with ICMP errors, what
 * AF_PACKET takes: a program behind the taps, or before Linux 6.6 a UDP socket that
 * takes every packet and drops it. Neither is fatal when it fails: a note says so. */
struct packet_socket_plug {
	struct kernel_filter *filter;
	int fd;
};

void packet_socket_plug(struct packet_socket_plug *plug, struct port *port, int ifindex);
void packet_socket_unplug(struct packet_socket_plug *plug);

/* Packets dropped since the last call because the queue was full. */
uint64_t packet_socket_drops(int fd);

#endif
