// SPDX-License-Identifier: Apache-2.0
/*
 * A flood of UDP packets over a veth pair of its own, to a socket that nobody reads:
 *
 *   flood on another CPU ── f0 ── veth ── f1 ── receive packet steering ─▸ NET_RX on the target
 *
 * Both ends are in network namespaces of this program, and go away with it. Where the target is
 * negative, it floods on CPU -target-1 itself, and the packets are received there, too.
 */
#define _GNU_SOURCE
#include "bursts.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { BATCH = 32, PAYLOAD = 18 };

static int sender;
static struct mmsghdr messages[BATCH];

static void shell(const char *command)
{
	if (system(command) != 0)
		die(command);
}

static void steer(int cpu)
{
	char mask[16];
	int fd = open("/sys/class/net/f1/queues/rx-0/rps_cpus", O_WRONLY);
	int length = snprintf(mask, sizeof mask, "%x", 1u << cpu);

	if (fd < 0 || write(fd, mask, (size_t)length) != length)
		die("steer the packets");
	close(fd);
}

/* The receiving end: a process of its own, that has the namespace of f1. */
static void receive(int cpu, int ready, int linked)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
	char byte;
	int receiver;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(3); /* the test waits for its end */
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("sysfs", "/sys", "sysfs", 0, NULL) < 0)
		die("have a network namespace");
	if (write(ready, "n", 1) != 1 || read(linked, &byte, 1) != 1)
		die("wait for the link");
	shell("ip address add 10.99.0.2/24 dev f1 && ip link set f1 up");
	if (cpu >= 0)
		steer(cpu);
	receiver = socket(AF_INET, SOCK_DGRAM, 0);
	if (receiver < 0 || bind(receiver, (struct sockaddr *)&address, sizeof address) < 0)
		die("receive");
	if (write(ready, "r", 1) != 1)
		die("tell that it receives");
	pause();
}

static void link_up(int cpu)
{
	int ready[2], linked[2];
	char byte, command[96];
	pid_t child;

	if (unshare(CLONE_NEWNET) < 0 || pipe(ready) < 0 || pipe(linked) < 0)
		die("have a network namespace");
	child = fork();
	if (child == 0) {
		receive(cpu, ready[1], linked[0]);
		_exit(1);
	}
	if (child < 0 || read(ready[0], &byte, 1) != 1)
		die("start the receiver");
	snprintf(command, sizeof command, "ip link add f0 type veth peer name f1 netns %d",
		 (int)child);
	shell(command);
	shell("ip address add 10.99.0.1/24 dev f0 && ip link set f0 up");
	if (write(linked[1], "l", 1) != 1 || read(ready[0], &byte, 1) != 1)
		die("link the receiver");
}

static void blow(struct bursts *b)
{
	uint64_t begin = now_ns();

	(void)sendmmsg(sender, messages, BATCH, 0); /* refused: the flood is what counts */
	bursts_note(b, begin, now_ns());
}

int main(int argc, char **argv)
{
	static char payload[PAYLOAD];
	static struct iovec part = {payload, PAYLOAD};
	struct bursts b = bursts_begin(argc, argv);
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};

	link_up(b.target);
	inet_pton(AF_INET, "10.99.0.2", &to.sin_addr);
	sender = socket(AF_INET, SOCK_DGRAM, 0);
	if (sender < 0 || connect(sender, (struct sockaddr *)&to, sizeof to) < 0)
		die("send");
	for (int i = 0; i < BATCH; i++)
		messages[i].msg_hdr = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1};
	if (b.target >= 0)
		pin_off(b.target);
	else
		pin_to(-b.target - 1);
	return bursts_run(&b, blow);
}
