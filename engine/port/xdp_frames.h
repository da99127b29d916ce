/*
 * xdp_frames: sending a burst as XDP frames, without socket buffers. The kernel's test
 * run of an XDP program on live frames (BPF_PROG_RUN, Linux 5.18) takes pages from a
 * pool, runs the program on each and does as it says; nines_redirect (filter.bpf.c) fills
 * a frame from the burst and redirects it to the port's interface. What an AF_XDP socket
 * sends in copy mode becomes a socket buffer instead, which the first XDP program on the
 * way copies into a page again: most of what such a packet costs.
 *
 * A run has a price of its own, that of a page pool, so it pays from some packets on. And
 * the pool and its pages stay for a second more if the pages have not come back when the
 * run ends (page_pool_destroy). They have where an AF_XDP socket in copy mode takes the
 * frames by softirqs of the sender's CPU; not where other threads poll, and not from the
 * queue of another socket.
 *
 * Frames to an interface that is no target of redirects are lost without a word
 * (NETDEV_XDP_ACT_NDO_XMIT, Linux 6.3): who asks for them looks before.
 */
#ifndef NINES_XDP_FRAMES_H
#define NINES_XDP_FRAMES_H

#include "port/filter.h"
#include "port/kernel_filter.h"
#include "port/port.h"

enum { XDP_FRAMES_WORTH = 16 }; /* packets from which a run costs less than the socket */

struct xdp_frames;

/* Readies a program that was loaded to send, and tries it. -errno. */
int xdp_frames_open(struct xdp_frames **frames, const struct kernel_filter *program, int ifindex);
void xdp_frames_close(struct xdp_frames *frames);

/* Sends up to XDP_FRAMES_MAX packets of at most XDP_FRAMES_BYTES each. How many it took,
 * from the first: less if memory ran out; or -errno. */
int xdp_frames_send(struct xdp_frames *frames, const struct packet *burst, unsigned count);

/* How many of those taken were not sent. */
uint64_t xdp_frames_aborted(const struct xdp_frames *frames);

#endif
