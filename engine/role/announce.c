#include "role/announce.h"

#include "clock/clock.h"
#include "packet/frame.h"
#include "port/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <net/if_arp.h>
#include <netinet/if_ether.h>
#include <netpacket/packet.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* No longer than a trial's packets, each of which overwrites it: no trace stays in the buffer. */
enum { FRAME_BYTES = FRAME_MIN_BYTES - FRAME_FCS_BYTES };
#define ANNOUNCE_NS UINT64_C(100000000)

/* Gratuitous ARP as a reply (RFC 5944, section 4.6), not as a request (RFC 5227): where both ends
 * of a link are in one network namespace, its kernel would answer a request for its own address
 * with the other end's MAC address. */
static void write_announcement(uint8_t *frame, const struct port_config *c)
{
	struct ether_header *ethernet = (struct ether_header *)frame;
	struct ether_arp *arp = (struct ether_arp *)(ethernet + 1);
	memset(frame, 0, FRAME_BYTES);
	memset(ethernet->ether_dhost, 0xff, sizeof ethernet->ether_dhost);
	memcpy(ethernet->ether_shost, c->local_mac, sizeof ethernet->ether_shost);
	ethernet->ether_type = htons(ETHERTYPE_ARP);
	arp->arp_hrd = htons(ARPHRD_ETHER);
	arp->arp_pro = htons(ETHERTYPE_IP);
	arp->arp_hln = sizeof arp->arp_sha;
	arp->arp_pln = sizeof arp->arp_spa;
	arp->arp_op = htons(ARPOP_REPLY);
	memcpy(arp->arp_sha, c->local_mac, sizeof arp->arp_sha);
	/* A port of IPv6 has no IPv4 address, and announces none (0.0.0.0): switches learn from the MAC
	 * address alone. */
	uint32_t ip = address_ip4(&c->local_ip);
	memcpy(arp->arp_spa, &ip, sizeof arp->arp_spa);
	memcpy(arp->arp_tha, c->local_mac, sizeof arp->arp_tha);
	memcpy(arp->arp_tpa, &ip, sizeof arp->arp_tpa);
}

/* 1 if it was sent, 0 if the port is full for now. */
static int send_once(struct port *port)
{
	struct packet p;
	if (port->ops->tx_acquire(port, &p, 1) == 0)
		return 0;
	write_announcement(p.data, &port->config);
	p.length = FRAME_BYTES;
	int sent = port->ops->tx_commit(port, &p, 1);
	if (sent <= 0)
		port->ops->tx_release(port, &p, 1);
	return sent;
}

/* A device outside the kernel can only be reached through the port. */
static int announce_on_port(struct port *port)
{
	const struct timespec pause = {.tv_nsec = 100000};
	uint64_t end = clock_monotonic_ns() + ANNOUNCE_NS;
	int sent;
	if (port->ops->layer != PORT_FRAME || !port->config.has_local_mac)
		return 0;
	while ((sent = send_once(port)) == 0) {
		if (clock_monotonic_ns() >= end)
			return -EAGAIN;
		nanosleep(&pause, NULL);
	}
	return sent < 0 ? sent : 0;
}

/* Whether the interface's frames have MAC addresses: those of the loopback and of tunnels have
 * none. */
static bool is_ethernet(int fd, const char *interface)
{
	struct ifreq request = {0};
	memcpy(request.ifr_name, interface, sizeof request.ifr_name);
	return ioctl(fd, SIOCGIFHWADDR, &request) == 0 &&
	       request.ifr_hwaddr.sa_family == ARPHRD_ETHER;
}

/* Uses its own socket, because the port's may send only UDP or only receive, and its counters are
 * for packets of trials. */
static int announce_on_interface(const struct port *port)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(ETHERTYPE_ARP)};
	struct port_config config = port->config;
	char reason[128];
	uint8_t frame[FRAME_BYTES];
	int err = socket_interface(&config, &to.sll_ifindex, reason, sizeof reason);
	if (err)
		return err;
	/* Protocol 0 receives nothing. */
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (is_ethernet(fd, config.interface)) {
		write_announcement(frame, &config);
		if (sendto(fd, frame, sizeof frame, 0, (const struct sockaddr *)&to, sizeof to) < 0)
			err = -errno;
	}
	close(fd);
	return err;
}

int announce(struct port *port)
{
	if (port->ops->takes_device)
		return announce_on_port(port);
	/* The backends of tests have neither a device nor an interface. */
	return port->config.interface[0] ? announce_on_interface(port) : 0;
}
