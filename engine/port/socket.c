/* Code shared by the backends on sockets; see socket.h. */
#include "port/socket.h"

#include "refusal/refusal.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* include/uapi/asm-generic/socket.h; 5.11 and newer than some libcs. */
#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL 69
#endif
#ifndef SO_BUSY_POLL_BUDGET
#define SO_BUSY_POLL_BUDGET 70
#endif
#ifndef SO_INCOMING_NAPI_ID
#define SO_INCOMING_NAPI_ID 56
#endif
#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif

/* include/uapi/linux/eventpoll.h of 6.9, newer than distributions' headers. */
struct epoll_parameters {
	uint32_t busy_poll_usecs;
	uint16_t busy_poll_budget;
	uint8_t prefer_busy_poll;
	uint8_t pad;
};
#define EPOLL_SET_PARAMETERS _IOW(0x8A, 0x01, struct epoll_parameters)

enum {
	/* About 100 ms of small packets at 100 kpps, with the kernel's overhead of
	 * some 800 bytes each. */
	BUFFER_BYTES = 8 << 20,
	/* The value of tuned's network-latency profile, and NAPI's own weight. */
	BUSY_POLL_US = 50,
	BUSY_POLL_BUDGET = 64,
};

struct socket_address socket_address_of(const struct in6_addr *ip, uint16_t udp_port, bool ip6)
{
	if (ip6)
		return (struct socket_address){
			.ip6 = {.sin6_family = AF_INET6,
				.sin6_port = htons(udp_port),
				.sin6_addr = *ip},
			.bytes = sizeof(struct sockaddr_in6),
		};
	return (struct socket_address){
		.ip4 = {.sin_family = AF_INET,
			.sin_port = htons(udp_port),
			.sin_addr.s_addr = address_ip4(ip)},
		.bytes = sizeof(struct sockaddr_in),
	};
}

static void set_buffer(int fd, struct port *port, int force, int ask, const char *name)
{
	int want = BUFFER_BYTES, got = 0;
	socklen_t length = sizeof got;
	if (setsockopt(fd, SOL_SOCKET, force, &want, sizeof want) == 0)
		return;
	int err = errno;
	const char *reason = refusal_reason(err, CAP_NET_ADMIN);
	setsockopt(fd, SOL_SOCKET, ask, &want, sizeof want);
	getsockopt(fd, SOL_SOCKET, ask, &got, &length);
	port_note(port, "%s is %d bytes, not %d: %s%s%s", name, got / 2, want, strerror(err),
		  reason ? ", " : "", reason ? reason : "");
}

void socket_buffers(int fd, struct port *port)
{
	set_buffer(fd, port, SO_RCVBUFFORCE, SO_RCVBUF, "receive buffer");
	set_buffer(fd, port, SO_SNDBUFFORCE, SO_SNDBUF, "send buffer");
}

void socket_busy_poll(int fd, struct port *port)
{
	if (port->config.wait != PORT_BUSY_POLL)
		return;
	int probe = socket_busy_epoll();
	if (refusal_exhausted(probe))
		port_note(port, "no epoll to poll with: %s", strerror(-probe));
	snprintf(port->waits, sizeof port->waits, "busy_poll by %s",
		 probe < 0 ? "the socket" : "epoll");
	if (probe >= 0)
		close(probe);
	int us = BUSY_POLL_US, one = 1, budget = BUSY_POLL_BUDGET;
	if (setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL, &us, sizeof us) < 0)
		port_note(port, "SO_BUSY_POLL: %s", strerror(errno));
	if (setsockopt(fd, SOL_SOCKET, SO_PREFER_BUSY_POLL, &one, sizeof one) < 0)
		port_note(port, "SO_PREFER_BUSY_POLL: %s", strerror(errno));
	if (setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL_BUDGET, &budget, sizeof budget) < 0)
		port_note(port, "SO_BUSY_POLL_BUDGET: %s", strerror(errno));
}

int socket_busy_epoll(void)
{
	struct epoll_parameters parameters = {.busy_poll_usecs = BUSY_POLL_US,
					      .busy_poll_budget = BUSY_POLL_BUDGET,
					      .prefer_busy_poll = 1};
	int fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, EPOLL_SET_PARAMETERS, &parameters) < 0) {
		int err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

unsigned socket_napi(int fd)
{
	unsigned id = 0;
	socklen_t length = sizeof id;
	return getsockopt(fd, SOL_SOCKET, SO_INCOMING_NAPI_ID, &id, &length) < 0 ? 0 : id;
}

uint64_t socket_drops(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = {0};
	socklen_t length = sizeof info;
	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &length) < 0)
		return 0;
	return info[SK_MEMINFO_DROPS];
}

int socket_send_error(void)
{
	switch (errno) {
	case EAGAIN:
	case ENOBUFS:
	case ENOMEM:
	case EINTR:
	/* An ICMP error about an earlier packet made this send fail. */
	case ECONNREFUSED:
		return 0;
	default:
		return -errno;
	}
}

int socket_interface(struct port_config *config, int *ifindex, char *error, size_t error_size)
{
	struct ifreq request = {0};
	int err = 0;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		err = -errno;
		refusal_say(error, error_size, err, -1, "cannot look for %s", config->interface);
		return err;
	}
	memcpy(request.ifr_name, config->interface, sizeof request.ifr_name);
	if (ioctl(fd, SIOCGIFINDEX, &request) < 0) {
		err = -errno;
		if (err == -ENODEV)
			snprintf(error, error_size, "no interface %s here; see `ip link`",
				 config->interface);
		else
			refusal_say(error, error_size, err, -1, "cannot look for %s",
				    config->interface);
		goto out;
	}
	*ifindex = request.ifr_ifindex;
	if (!config->has_local_mac) {
		if (ioctl(fd, SIOCGIFHWADDR, &request) < 0) {
			err = -errno;
			snprintf(error, error_size, "cannot read the MAC address of %s",
				 config->interface);
			goto out;
		}
		memcpy(config->local_mac, request.ifr_hwaddr.sa_data, 6);
		config->has_local_mac = true;
	}
out:
	close(fd);
	return err;
}
