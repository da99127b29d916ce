/*
 * Features by SIOCETHTOOL, queueing disciplines by route netlink; see offload.h.
 *
 * A feature's number differs from kernel to kernel, so it is looked up among the
 * names (ETH_SS_FEATURES), as ethtool does.
 */
#include "port/offload.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int ethtool(int fd, const char *interface, void *command)
{
	struct ifreq request = {0};
	strncpy(request.ifr_name, interface, sizeof request.ifr_name - 1);
	request.ifr_data = command;
	return ioctl(fd, SIOCETHTOOL, &request) < 0 ? -errno : 0;
}

/* The number of features, or -errno. */
static int feature_count(int fd, const char *interface)
{
	struct {
		struct ethtool_sset_info head;
		uint32_t length;
	} info = {.head = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_FEATURES}};
	int err = ethtool(fd, interface, &info);
	if (err)
		return err;
	return info.head.sset_mask ? (int)info.length : -EOPNOTSUPP;
}

/* The feature's number, or -errno. */
static int feature_index(int fd, const char *interface, const char *feature, uint32_t count)
{
	struct ethtool_gstrings *names = calloc(1, sizeof *names + (size_t)count * ETH_GSTRING_LEN);
	if (!names)
		return -ENOMEM;
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_FEATURES;
	names->len = count;
	int index = ethtool(fd, interface, names);
	if (index == 0) {
		index = -ENOENT;
		for (uint32_t i = 0; i < count; i++)
			if (strncmp((char *)names->data + (size_t)i * ETH_GSTRING_LEN, feature,
				    ETH_GSTRING_LEN) == 0)
				index = (int)i;
	}
	free(names);
	return index;
}

int offload_active(const char *interface, const char *feature)
{
	struct ethtool_gfeatures *features = NULL;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int count = feature_count(fd, interface), err = count;
	if (count < 0)
		goto out;
	int index = feature_index(fd, interface, feature, (uint32_t)count);
	err = index;
	if (index < 0)
		goto out;
	uint32_t blocks = ((uint32_t)count + 31) / 32;
	features = calloc(1, sizeof *features + blocks * sizeof features->features[0]);
	err = -ENOMEM;
	if (!features)
		goto out;
	features->cmd = ETHTOOL_GFEATURES;
	features->size = blocks;
	err = ethtool(fd, interface, features);
	if (err == 0)
		err = features->features[index / 32].active >> (index % 32) & 1;
out:
	free(features);
	close(fd);
	return err;
}

int offload_mtu(const char *interface)
{
	struct ifreq request = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	strncpy(request.ifr_name, interface, sizeof request.ifr_name - 1);
	int mtu = ioctl(fd, SIOCGIFMTU, &request) < 0 ? -errno : request.ifr_mtu;
	close(fd);
	return mtu;
}

/* Whether the message describes a queueing discipline that holds what `ifindex` sends. */
static bool holds(const struct nlmsghdr *message, int ifindex)
{
	const struct tcmsg *tc = NLMSG_DATA(message);
	if (message->nlmsg_type != RTM_NEWQDISC || tc->tcm_ifindex != ifindex)
		return false;
	int left = (int)(message->nlmsg_len - NLMSG_LENGTH(sizeof *tc));
	const struct rtattr *a =
		(const struct rtattr *)((const char *)tc + NLMSG_ALIGN(sizeof *tc));
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == TCA_KIND)
			return strcmp(RTA_DATA(a), "noqueue") != 0 &&
			       strcmp(RTA_DATA(a), "ingress") != 0;
	return true;
}

/* Reads the answer to the end: 1, 0 or -errno. */
static int read_queues(int fd, int ifindex)
{
	_Alignas(struct nlmsghdr) char answer[32768];
	int found = 0;
	for (;;) {
		ssize_t n = recv(fd, answer, sizeof answer, 0);
		if (n < 0)
			return -errno;
		size_t left = (size_t)n;
		for (const struct nlmsghdr *m = (const void *)answer; NLMSG_OK(m, left);
		     m = NLMSG_NEXT(m, left)) {
			if (m->nlmsg_type == NLMSG_DONE)
				return found;
			if (m->nlmsg_type == NLMSG_ERROR)
				return ((const struct nlmsgerr *)NLMSG_DATA(m))->error;
			if (holds(m, ifindex))
				found = 1;
		}
	}
}

int offload_queued(const char *interface)
{
	struct {
		struct nlmsghdr head;
		struct tcmsg tc;
	} request = {
		.head = {.nlmsg_len = sizeof request,
			 .nlmsg_type = RTM_GETQDISC,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.tc = {.tcm_family = AF_UNSPEC},
	};
	int ifindex = (int)if_nametoindex(interface);
	if (ifindex == 0)
		return -errno;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -errno;
	int result = send(fd, &request, sizeof request, 0) < 0 ? -errno : read_queues(fd, ifindex);
	close(fd);
	return result;
}
