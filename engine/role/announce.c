#include "role/announce.h"

#include "clock/clock.h"
#include "packet/frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <netinet/if_ether.h>
#include <string.h>
#include <time.h>

/* No more than each packet of a trial overwrites: no trace stays in the buffer. */
enum { FRAME_BYTES = FRAME_MIN_BYTES - FRAME_FCS_BYTES };
#define ANNOUNCE_NS UINT64_C(100000000)

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
	arp->arp_op = htons(ARPOP_REQUEST);
	memcpy(arp->arp_sha, c->local_mac, sizeof arp->arp_sha);
	memcpy(arp->arp_spa, &c->local_ip, sizeof arp->arp_spa);
	memcpy(arp->arp_tpa, &c->local_ip, sizeof arp->arp_tpa);
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

int announce(struct port *port)
{
	const struct timespec pause = {.tv_nsec = 100000};
	uint64_t end = clock_monotonic_ns() + ANNOUNCE_NS;
	int sent;
	if (!port->ops->takes_device || port->ops->layer != PORT_FRAME ||
	    !port->config.has_local_mac)
		return 0;
	while ((sent = send_once(port)) == 0) {
		if (clock_monotonic_ns() >= end)
			return -EAGAIN;
		nanosleep(&pause, NULL);
	}
	return sent < 0 ? sent : 0;
}
