/* AF_PACKET sockets; see packet_socket.h. */
#include "port/packet_socket.h"

#include "port/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Accepts unfragmented UDP to a port, without IPv4 options and IPv6 extensions. In tcpdump's syntax:
 * `(ip[0] = 0x45 and udp dst port P and ip[6:2] & 0x3fff = 0) or (ip6[6] = 17 and ip6[42:2] = P)`. */
static int attach_filter(int fd, uint16_t udp_port)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_IP, 0, 8),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 14),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x45, 0, 12),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 20),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x3fff, 10, 0),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 8),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 36),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, udp_port, 5, 6),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_IPV6, 0, 5),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 20),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 56),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, udp_port, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0x40000),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {sizeof code / sizeof code[0], code};
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0 ? -errno
											  : 0;
}

int packet_socket_bind(int fd, int ifindex, uint16_t protocol)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = ifindex,
	};
	return bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
}

int packet_socket_promiscuous(int fd, int ifindex)
{
	struct packet_mreq request = {.mr_ifindex = ifindex, .mr_type = PACKET_MR_PROMISC};
	return setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof request) < 0
		       ? -errno
		       : 0;
}

/* Selects the frames that the socket gets. */
static int select_frames(int fd, const struct port *port, int ifindex, const char **what)
{
	if (port->config.frames == PORT_FRAMES_ALL) {
		*what = "make the interface promiscuous";
		return packet_socket_promiscuous(fd, ifindex);
	}
	*what = "attach the filter for the UDP port";
	return attach_filter(fd, port->config.udp_port);
}

int packet_socket_rx(struct port *port, int ifindex, int *fd, const char **what)
{
	int one = 1;
	*what = "create an AF_PACKET socket";
	*fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return -errno;
	int err = select_frames(*fd, port, ifindex, what);
	if (err)
		return err;
	/* Leaves out frames that this host sends itself. From Linux 4.20. */
	if (setsockopt(*fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) < 0)
		port_note(port, "PACKET_IGNORE_OUTGOING: %s", strerror(errno));
	socket_buffers(*fd, port);
	socket_busy_poll(*fd, port);
	if (port->config.wait == PORT_BUSY_POLL) {
		snprintf(port->waits, sizeof port->waits, "busy_poll by spinning");
		port_note(port, "AF_PACKET sockets have no NAPI id: busy polling only spins");
	}
	return 0;
}

int packet_socket_tx(struct port *port, int ifindex, int *fd, const char **what)
{
	int one = 1;
	*what = "create an AF_PACKET socket";
	/* Protocol 0 receives nothing. */
	*fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return -errno;
	/* Straight to the driver: no queueing discipline, no taps. From Linux 3.14. */
	if (setsockopt(*fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one) < 0)
		port_note(port, "PACKET_QDISC_BYPASS: %s", strerror(errno));
	socket_buffers(*fd, port);
	*what = "bind the AF_PACKET socket to the interface";
	return packet_socket_bind(*fd, ifindex, 0);
}

int packet_socket_segments(struct port *port, int ifindex, int *fd, const char **what)
{
	int one = 1;
	*what = "create an AF_PACKET socket";
	*fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return -errno;
	/* From Linux 2.6.27. */
	*what = "send frames with a virtio header";
	if (setsockopt(*fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof one) < 0)
		return -errno;
	socket_buffers(*fd, port);
	*what = "bind the AF_PACKET socket to the interface";
	return packet_socket_bind(*fd, ifindex, 0);
}

static int plug_socket(struct port *port)
{
	const struct port_config *c = &port->config;
	struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = {1, &drop};
	struct socket_address local = socket_address_of(&in6addr_any, c->udp_port, port_is_ip6(c));
	int one = 1;
	int fd = socket(local.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		goto fail;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, c->interface,
		       (socklen_t)strlen(c->interface)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0 ||
	    bind(fd, &local.any, local.bytes) < 0)
		goto fail;
	return fd;
fail:
	port_note(port, "no socket on UDP port %u to keep the kernel from answering: %s",
		  c->udp_port, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

void packet_socket_plug(struct packet_socket_plug *plug, struct port *port, int ifindex)
{
	char error[200];
	bool all = port->config.frames == PORT_FRAMES_ALL;
	plug->fd = -1;
	if (kernel_filter_drop(&plug->filter, ifindex, all ? 0 : port->config.udp_port, error,
			       sizeof error) == 0)
		return;
	plug->filter = NULL;
	if (all) {
		port_note(port, "the kernel's own stack sees the frames, too: before Linux 6.6 "
				"nothing keeps them from it");
		return;
	}
	plug->fd = plug_socket(port);
}

void packet_socket_unplug(struct packet_socket_plug *plug)
{
	if (plug->filter)
		kernel_filter_detach(plug->filter);
	if (plug->fd >= 0)
		close(plug->fd);
	plug->filter = NULL;
	plug->fd = -1;
}

uint64_t packet_socket_drops(int fd)
{
	struct tpacket_stats stats = {0};
	socklen_t length = sizeof stats;
	/* Reading sets the kernel's counters to 0. */
	if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &length) < 0)
		return 0;
	return stats.tp_drops;
}
