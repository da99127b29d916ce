/* socket: what the backends on sockets share. */
#ifndef NINES_SOCKET_H
#define NINES_SOCKET_H

#include "port/port.h"

/* Makes the socket's buffers large, so that a receiver that is held up for some
 * milliseconds loses nothing; notes what it could not get. */
void socket_buffers(int fd, struct port *port);

/* Asks for busy polling where the port waits so, and says in port->waits by what. */
void socket_busy_poll(int fd, struct port *port);

/* An epoll set that polls the NAPI instance of its sockets for a while before it sleeps
 * (EPIOCSPARAMS, Linux 6.9): its descriptor, or -errno, -ENOTTY of an older kernel. */
int socket_busy_epoll(void);

/* The NAPI instance that the socket's last packet came by; 0: none, or not known. */
unsigned socket_napi(int fd);

/* Packets the socket dropped because its queue was full, since it was opened. */
uint64_t socket_drops(int fd);

/* After a failed send: 0 if trying again makes sense, else -errno. */
int socket_send_error(void);

/* MAC address and index of the interface; local_mac is set where the user gave none. */
int socket_interface(struct port_config *config, int *ifindex, char *error, size_t error_size);

#endif
