// SPDX-License-Identifier: Apache-2.0
/*
 * Sockets that have received through given NAPI instances. The packet for one is sent from
 * the other end of a veth pair: UDP to the limited broadcast address, from 0.0.0.0, as in
 * DHCP, which a host without an address accepts, too (ip_route_input_slow in
 * net/ipv4/route.c). With several queues, its source port decides which one gets it.
 */
#define _GNU_SOURCE
#include "poller.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef SO_INCOMING_NAPI_ID
#define SO_INCOMING_NAPI_ID 56
#endif

#define FEED_TRIES   2048
#define FEED_WAIT_MS 200

struct feed_frame {
	struct ether_header ethernet;
	struct iphdr ip;
	struct udphdr udp;
	char data[18]; /* pads to the 60 bytes of the smallest frame */
} __attribute__((packed));

static uint16_t feed__checksum(const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < size; i += 2)
		sum += (uint32_t)(bytes[i] << 8 | bytes[i + 1]);
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static void feed__frame(struct feed_frame *frame, uint16_t from, uint16_t to)
{
	*frame = (struct feed_frame){0};
	memset(frame->ethernet.ether_dhost, 0xff, ETH_ALEN);
	frame->ethernet.ether_shost[0] = 0x02; /* locally administered */
	frame->ethernet.ether_type = htons(ETHERTYPE_IP);
	frame->ip.ihl = 5;
	frame->ip.version = 4;
	frame->ip.tot_len = htons(sizeof *frame - sizeof frame->ethernet);
	frame->ip.ttl = 1;
	frame->ip.protocol = IPPROTO_UDP;
	frame->ip.daddr = htonl(INADDR_BROADCAST);
	frame->ip.check = feed__checksum(&frame->ip, sizeof frame->ip);
	frame->udp.source = htons(from);
	frame->udp.dest = htons(to);
	frame->udp.len = htons(sizeof frame->udp + sizeof frame->data);
	/* No checksum: 0 means none (RFC 768). */
}

/* Opens a socket for sending, from "PATH:DEVICE". */
static int feed__sender(const char *feed, struct sockaddr_ll *to)
{
	const char *colon = strrchr(feed, ':');
	char path[4096];
	int sender = -1;
	int home;

	if (colon == NULL || (size_t)(colon - feed) >= sizeof path) {
		errno = EINVAL;
		return -1;
	}
	memcpy(path, feed, (size_t)(colon - feed));
	path[colon - feed] = '\0';
	if (netns__enter(path, &home) < 0)
		return -1;
	*to = (struct sockaddr_ll){
		.sll_family = AF_PACKET,
		.sll_ifindex = (int)if_nametoindex(colon + 1),
		.sll_halen = ETH_ALEN,
	};
	if (to->sll_ifindex > 0)
		sender = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	netns__leave(home);
	return sender;
}

static int feed__receiver(const char *netns, uint16_t *port)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	socklen_t length = sizeof any;
	int receiver;
	int home;

	if (netns__enter(netns, &home) < 0)
		return -1;
	receiver = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	netns__leave(home);
	if (receiver < 0)
		return -1;
	if (bind(receiver, (struct sockaddr *)&any, sizeof any) < 0 ||
	    getsockname(receiver, (struct sockaddr *)&any, &length) < 0) {
		close(receiver);
		return -1;
	}
	*port = ntohs(any.sin_port);
	return receiver;
}

/* The instance through which a packet arrived; 0 if none did. */
static unsigned feed__once(int receiver, uint16_t port, int sender, const struct sockaddr_ll *to,
			   uint16_t from)
{
	struct feed_frame frame;
	unsigned id = 0;

	feed__frame(&frame, from, port);
	if (sendto(sender, &frame, sizeof frame, 0, (const struct sockaddr *)to, sizeof *to) < 0)
		return 0;
	for (int waited = 0; waited < FEED_WAIT_MS * 10 && id == 0; waited++) {
		socklen_t length = sizeof id;

		if (getsockopt(receiver, SOL_SOCKET, SO_INCOMING_NAPI_ID, &id, &length) < 0)
			return 0;
		if (id == 0)
			usleep(100);
	}
	return id;
}

/* Leaves no buffer space, so that other broadcasts do not fill memory. */
static void feed__shut(int receiver)
{
	char byte;
	int least = 1;

	setsockopt(receiver, SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
	while (recv(receiver, &byte, sizeof byte, 0) >= 0)
		continue;
}

static int feed__from(const struct options *options, const char *feed, int *sockets)
{
	struct sockaddr_ll to;
	int sender = feed__sender(feed, &to);
	int missing = 0;

	if (sender < 0)
		return poller__fail("send from", feed);
	for (int tries = 0; tries < FEED_TRIES; tries++) {
		uint16_t port = 0;
		int receiver;
		unsigned id;
		bool wanted = false;

		missing = 0;
		for (int i = 0; i < options->napis; i++)
			missing += sockets[i] < 0;
		if (missing == 0)
			break;
		receiver = feed__receiver(options->netns, &port);
		if (receiver < 0)
			return poller__fail("open a socket in", options->netns);
		id = feed__once(receiver, port, sender, &to, (uint16_t)(1024 + tries));
		for (int i = 0; i < options->napis && !wanted; i++) {
			wanted = sockets[i] < 0 && options->napi[i] == id;
			if (wanted)
				sockets[i] = receiver;
		}
		if (wanted)
			feed__shut(receiver);
		else
			close(receiver);
		if (id == 0 && tries >= 3)
			break; /* no packet gets through */
	}
	close(sender);
	return 0;
}

int feed__sockets(const struct options *options, int *sockets)
{
	if (options->netns == NULL || options->feeds == 0) {
		fputs("nines-poller: epoll needs --netns and --feed: a packet has to come first\n",
		      stderr);
		return POLLER_EXIT_USAGE;
	}
	for (int i = 0; i < options->napis; i++)
		sockets[i] = -1;
	for (int i = 0; i < options->feeds; i++) {
		int failed = feed__from(options, options->feed[i], sockets);

		if (failed != 0)
			return failed;
	}
	for (int i = 0; i < options->napis; i++) {
		if (sockets[i] >= 0)
			continue;
		fprintf(stderr,
			"nines-poller: no packet came by NAPI instance %u, and without one epoll "
			"cannot poll it: a firewall in the namespace drops it, or the interface is "
			"down\n",
			options->napi[i]);
		return POLLER_EXIT_FAILED;
	}
	return 0;
}
