// SPDX-License-Identifier: Apache-2.0
/*
 * Checks whether the polled instances still exist: a device that is set down and up, or
 * whose queues or GRO change, may get new NAPI instances with new ids, and a poller with
 * the old ids polls nothing. The kernel lists them by netlink (napi-get of the family
 * "netdev", Linux 6.8), in the device's namespace. The socket is closed each time, because
 * it would keep the namespace alive.
 */
#define _GNU_SOURCE
#include "poller.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* include/uapi/linux/netdev.h; distributions' headers are older. */
#define NAPI_FAMILY    "netdev"
#define NAPI_GET       11
#define NAPI_ATTRIBUTE 2 /* NETDEV_A_NAPI_ID */

struct napi_message {
	struct nlmsghdr header;
	struct genlmsghdr generic;
	union {
		char data[4096];
		struct nlattr attribute;
	};
};

/* Sends one attribute and reads the answer into message. Returns the length of the answer's
 * attributes, or -errno. */
static int napi__ask(int netlink, struct napi_message *message, uint16_t family, uint8_t command,
		     uint16_t attribute, const void *value, uint16_t size)
{
	const struct nlmsgerr *error = (const struct nlmsgerr *)&message->generic;
	ssize_t length;

	memset(message, 0, sizeof *message); /* also clears the padding after the value */
	message->header.nlmsg_len =
		(uint32_t)(NLMSG_LENGTH(GENL_HDRLEN) + NLA_HDRLEN + NLA_ALIGN(size));
	message->header.nlmsg_type = family;
	message->header.nlmsg_flags = NLM_F_REQUEST;
	message->generic.cmd = command;
	message->generic.version = 1;
	message->attribute.nla_len = (uint16_t)(NLA_HDRLEN + size);
	message->attribute.nla_type = attribute;
	memcpy(message->data + NLA_HDRLEN, value, size);
	if (send(netlink, message, message->header.nlmsg_len, 0) < 0)
		return -errno;
	length = recv(netlink, message, sizeof *message, 0);
	if (length < 0)
		return -errno;
	if (!NLMSG_OK(&message->header, length))
		return -EBADMSG;
	if (message->header.nlmsg_type == NLMSG_ERROR)
		return error->error < 0 ? error->error : -EBADMSG;
	return (int)(message->header.nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN));
}

/* The number that the kernel assigned to the family; 0 if it has none. */
static uint16_t napi__family(int netlink)
{
	struct napi_message message;
	int left = napi__ask(netlink, &message, GENL_ID_CTRL, CTRL_CMD_GETFAMILY,
			     CTRL_ATTR_FAMILY_NAME, NAPI_FAMILY, sizeof NAPI_FAMILY);
	const char *at = message.data;

	while (left >= NLA_HDRLEN) {
		const struct nlattr *attribute = (const struct nlattr *)at;
		uint16_t number;

		if (attribute->nla_len < NLA_HDRLEN || attribute->nla_len > left)
			break;
		if (attribute->nla_type == CTRL_ATTR_FAMILY_ID) {
			memcpy(&number, at + NLA_HDRLEN, sizeof number);
			return number;
		}
		at += NLA_ALIGN(attribute->nla_len);
		left -= NLA_ALIGN(attribute->nla_len);
	}
	return 0;
}

static int napi__netlink(const char *netns)
{
	const struct timeval patience = {.tv_sec = 1};
	int netlink;
	int home;

	if (netns == NULL) {
		netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	} else {
		if (netns__enter(netns, &home) < 0)
			return -1;
		netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
		netns__leave(home);
	}
	if (netlink >= 0)
		setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	return netlink;
}

unsigned napi__gone(const struct options *options)
{
	struct napi_message message;
	unsigned gone = 0;
	int netlink = napi__netlink(options->netns);
	uint16_t family;

	if (netlink < 0)
		return 0;
	family = napi__family(netlink);
	for (int i = 0; i < options->napis && family != 0 && gone == 0; i++) {
		uint32_t id = options->napi[i];

		if (napi__ask(netlink, &message, family, NAPI_GET, NAPI_ATTRIBUTE, &id,
			      sizeof id) == -ENOENT)
			gone = id;
	}
	close(netlink);
	return gone;
}
