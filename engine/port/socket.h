/* socket: code shared by the backends on sockets. */
#ifndef NINES_SOCKET_H
#define NINES_SOCKET_H

#include "port/port.h"

#include <netinet/in.h>
#include <sys/socket.h>

/* An address of a UDP socket, of either IP version. */
struct socket_address {
	union {
		struct sockaddr any;
		struct sockaddr_in ip4;
		struct sockaddr_in6 ip6;
	};
	socklen_t bytes;
};

/* With no address: any of that IP version. */
struct socket_address socket_address_of(const struct in6_addr *ip, uint16_t udp_port, bool ip6);

/* Makes the socket's buffers large, so that a receiver that stalls for some milliseconds loses
 * nothing; a note says if the kernel grants less. */
void socket_buffers(int fd, struct port *port);

/* Enables busy polling if the port waits that way, and names the mechanism in port->waits. */
void socket_busy_poll(int fd, struct port *port);

/* An epoll set that polls the NAPI instance of its sockets for a while before it sleeps
 * (EPIOCSPARAMS, Linux 6.9): its descriptor, or -errno: -ENOTTY on an older kernel. */
int socket_busy_epoll(void);

/* The NAPI instance that delivered the socket's last packet; 0: none, or unknown. */
unsigned socket_napi(int fd);

/* Packets the socket dropped because its queue was full, since it was opened. */
uint64_t socket_drops(int fd);

/* After a failed send: 0 if trying again makes sense, else -errno. */
int socket_send_error(void);

/* Reads the interface's MAC address and index; sets local_mac unless the user gave one. */
int socket_interface(struct port_config *config, int *ifindex, char *error, size_t error_size);

#endif
