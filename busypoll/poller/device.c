// SPDX-License-Identifier: Apache-2.0
/*
 * The polled devices, through the namespace's sysfs, which is mounted nowhere, so that the
 * poller need not be in the namespace. An open sysfs file keeps neither a namespace nor its
 * devices alive.
 */
#define _GNU_SOURCE
#include "poller.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

struct device {
	int packets; /* statistics/rx_packets */
	int flush; /* gro_flush_timeout */
	char polled[32];
	const char *interrupted;
};

static struct device devices[POLLER_MAX_DEVICES];
static int devices_used;

/* Opens /sys of the calling thread's network namespace. */
static int device__sysfs(void)
{
	int fs = fsopen("sysfs", FSOPEN_CLOEXEC);
	int dir = -1;
	int error;

	if (fs < 0)
		return -1;
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		dir = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	error = errno;
	close(fs);
	errno = error;
	return dir;
}

/* Opens /sys of another namespace. */
static int device__sysfs_of(const char *netns)
{
	int home;
	int dir;

	if (netns__enter(netns, &home) < 0)
		return -1;
	dir = device__sysfs();
	netns__leave(home);
	return dir;
}

static int device__add(int sysfs, const char *name, const char *interrupted)
{
	struct device *device = &devices[devices_used];
	char path[128];
	ssize_t length;

	snprintf(path, sizeof path, "class/net/%s/statistics/rx_packets", name);
	device->packets = openat(sysfs, path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof path, "class/net/%s/gro_flush_timeout", name);
	device->flush = openat(sysfs, path, O_RDWR | O_CLOEXEC);
	/* The runtimes of containers mount /sys read-only, which makes it so for the namespace. */
	if (device->flush < 0 && errno == EROFS)
		device->flush = openat(sysfs, path, O_RDONLY | O_CLOEXEC);
	if (device->packets < 0 || device->flush < 0)
		return -1;
	length = pread(device->flush, device->polled, sizeof device->polled - 1, 0);
	if (length <= 0)
		return -1;
	device->polled[length] = '\0';
	device->polled[strcspn(device->polled, "\n")] = '\0';
	device->interrupted = interrupted;
	if (strcmp(device->interrupted, device->polled) != 0 &&
	    (fcntl(device->flush, F_GETFL) & O_ACCMODE) == O_RDONLY) {
		errno = EROFS; /* it is to be written */
		return -1;
	}
	devices_used++;
	return 0;
}

int device__open(const struct options *options)
{
	int sysfs;

	if (options->devices == 0)
		return 0;
	sysfs = options->netns == NULL ? device__sysfs() : device__sysfs_of(options->netns);
	if (sysfs < 0)
		return poller__fail("open", "sysfs");
	for (int i = 0; i < options->devices; i++) {
		char name[64];
		const char *colon = strchr(options->device[i], ':');
		size_t length = colon == NULL ? strlen(options->device[i])
					      : (size_t)(colon - options->device[i]);

		if (length == 0 || length >= sizeof name)
			return poller__fail("there is no device", options->device[i]);
		memcpy(name, options->device[i], length);
		name[length] = '\0';
		if (strchr(name, '/') != NULL ||
		    device__add(sysfs, name, colon == NULL ? "0" : colon + 1) < 0)
			return poller__fail("open device", name);
	}
	close(sysfs);
	return 0;
}

uint64_t device__packets(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < devices_used; i++) {
		char text[32];
		ssize_t length = pread(devices[i].packets, text, sizeof text - 1, 0);

		if (length <= 0)
			continue;
		text[length] = '\0';
		sum += strtoull(text, NULL, 10);
	}
	return sum;
}

void device__give(bool to_interrupts)
{
	for (int i = 0; i < devices_used; i++) {
		const char *value = to_interrupts ? devices[i].interrupted : devices[i].polled;

		/* Interrupts were on all the time, and what others set since stays. */
		if (strcmp(devices[i].interrupted, devices[i].polled) == 0)
			continue;
		/* It fails only if the device is gone, and polling with it. */
		if (pwrite(devices[i].flush, value, strlen(value), 0) < 0)
			continue;
	}
}
