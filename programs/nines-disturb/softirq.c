// SPDX-License-Identifier: Apache-2.0
/*
 * Receive softirqs of a given length, in competition with all others.
 *
 * Packets are sent over the loopback device of a private network namespace, from another
 * CPU, and receive packet steering passes them to the CPU to disturb: an interrupt there
 * raises NET_RX, like a network card's, whatever runs there with whatever policy. The
 * receiving socket has a filter that keeps the softirq busy and then drops the packet
 * (softirq_filter.c). Softirqs do not nest: that CPU's other receivers and timers wait
 * meanwhile.
 *
 * If steering to the CPU is refused, as to one of isolcpus=, packets are sent on the CPU
 * itself; and without --cpu wherever this program runs: the kernel receives loopback
 * packets on the CPU that sends them.
 */
#define _GNU_SOURCE
#include "disturb.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

/* The longest time for one packet, because the filter's loop is bounded; a longer softirq
 * handles several. */
#define PACKET_NS (500 * NS_PER_US)
/* The most packets that wait to be received; the kernel drops more than a thousand
 * (net.core.netdev_max_backlog). */
#define MOST_WAITING 64

static const char steering[] = "/sys/class/net/lo/queues/rx-0/rps_cpus";
static int receiver = -1, sender = -1;
static volatile struct softirq_times *times;
static bool steered;

static int softirq_steer(int cpu)
{
	char mask[160];
	size_t used = (size_t)snprintf(mask, sizeof mask, "%x", cpu < 0 ? 0 : 1u << (cpu % 32));
	int fd;
	int saved;
	ssize_t wrote;

	/* 32-bit words, the highest first: bitmap_parse() in lib/bitmap-str.c. */
	for (int word = cpu / 32; cpu >= 0 && word > 0 && used + 10 < sizeof mask; word--)
		used += (size_t)snprintf(mask + used, sizeof mask - used, ",00000000");
	fd = open(steering, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	wrote = write(fd, mask, used);
	saved = errno;
	close(fd);
	errno = saved;
	return wrote < 0 ? -1 : 0;
}

static int softirq_namespace(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd;
	int up;

	if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0)
		return failed("make a network namespace (this needs root)");
	/* /sys shows the namespace of the process that mounted it. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("sysfs", "/sys", "sysfs", 0, NULL) < 0)
		return failed("mount /sys for the namespace");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return failed("open a socket");
	up = ioctl(fd, SIOCSIFFLAGS, &lo);
	close(fd);
	return up < 0 ? failed("set the namespace's lo up") : 0;
}

static int softirq_setup(const struct request *request)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	int code = softirq_namespace();

	if (code != 0)
		return code;
	steered = request->cpu >= 0 && softirq_steer(request->cpu) == 0;
	if (!steered && request->cpu >= 0) {
		if (errno != EINVAL && errno != ENOENT)
			return failed("write CPU %d to %s", request->cpu, steering);
		code = placement_pin(request->cpu);
		if (code != 0)
			return code;
	}
	receiver = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (receiver < 0 || sender < 0 ||
	    bind(receiver, (struct sockaddr *)&address, sizeof address) < 0 ||
	    getsockname(receiver, (struct sockaddr *)&address, &size) < 0 ||
	    connect(sender, (struct sockaddr *)&address, sizeof address) < 0)
		return failed("open sockets on the loopback device");
	if (softirq_filter_attach(receiver, &times) < 0)
		return failed("load the receive filter (it needs CAP_BPF and Linux 5.5)");
	return 0;
}

static uint64_t ns_of_packet(const struct request *request)
{
	return request->length_ns < PACKET_NS ? request->length_ns : PACKET_NS;
}

/* If the CPU takes longer for a packet, something is wrong. */
#define PATIENCE_NS (10 * NS_PER_S)

static int softirq_inject(const struct request *request, struct injection *injection)
{
	uint64_t left = request->length_ns, sent = 0, received = 0;
	uint64_t before = times->packets, busy = times->busy_ns;
	uint64_t deadline = injection->begin_ns + request->length_ns + PATIENCE_NS;

	times->begin_ns = 0;
	while (!stopping() && (left > 0 || received < sent)) {
		uint64_t ns = left < PACKET_NS ? left : PACKET_NS;

		if (left > 0 && sent - received < MOST_WAITING) {
			if (send(sender, &ns, sizeof ns, 0) != sizeof ns)
				return failed("send over the loopback device");
			left -= ns;
			sent++;
		} else {
			/*
			 * They are received meanwhile; it takes longer if other threads
			 * hold the CPU.
			 */
			clock_sleep_until(clock_now() +
					  (sent - received) * ns_of_packet(request) / 2 +
					  20 * NS_PER_US);
		}
		received = times->packets - before;
		if (clock_now() > deadline) {
			errno = ETIMEDOUT;
			return failed("have CPU %d receive a packet", request->cpu);
		}
	}
	if (received > 0) {
		injection->begin_ns = times->begin_ns;
		injection->end_ns = times->end_ns;
	}
	injection->busy_ns = times->busy_ns - busy;
	injection->events = received;
	return 0;
}

static void softirq_teardown(void)
{
	if (steered)
		(void)softirq_steer(-1);
}

const struct kind kind_softirq = {
	.name = "softirq",
	.summary =
		"has the CPU receive packets (NET_RX) for that long, as another container's load does",
	.remote = true,
	.setup = softirq_setup,
	.inject = softirq_inject,
	.teardown = softirq_teardown,
};
