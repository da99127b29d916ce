/*
 * xdp_frames: sending a burst as XDP frames, without socket buffers. The kernel's test run of an
 * XDP program on live frames (BPF_PROG_RUN, Linux 5.18) takes pages from a pool, runs the program
 * on each and acts on its verdict; nines_redirect (filter.bpf.c) fills a frame from the burst and
 * redirects it to the port's interface. In copy mode an AF_XDP socket instead makes a socket buffer
 * of each frame, and the first XDP program on the path copies that into a page again: most of the
 * cost of such a packet.
 *
 * Each run costs a page pool, so it only pays for several packets. And the pool and its pages stay
 * for another second if pages are still out when the run ends (page_pool_destroy). All pages are
 * back if an AF_XDP socket in copy mode takes the frames in softirqs of the sender's CPU, but not
 * if other threads poll, or if frames wait in the queue of another socket.
 *
 * Frames to an interface that is no target of redirects are lost silently (NETDEV_XDP_ACT_NDO_XMIT,
 * Linux 6.3), so the caller checks that first.
 */
#ifndef NINES_XDP_FRAMES_H
#define NINES_XDP_FRAMES_H

#include "port/filter.h"
#include "port/kernel_filter.h"
#include "port/port.h"

enum { XDP_FRAMES_WORTH = 16 }; /* from this many packets on, a run costs less than the socket */

struct xdp_frames;

/* Prepares a program that was loaded for sending, and tries it. -errno. */
int xdp_frames_open(struct xdp_frames **frames, const struct kernel_filter *program, int ifindex);
void xdp_frames_close(struct xdp_frames *frames);

/* Sends up to XDP_FRAMES_MAX packets of at most XDP_FRAMES_BYTES each. Returns how many it took,
 * counted from the first (fewer if memory ran out), or -errno. */
int xdp_frames_send(struct xdp_frames *frames, const struct packet *burst, unsigned count);

/* How many of the frames it took were not sent. */
uint64_t xdp_frames_aborted(const struct xdp_frames *frames);

#endif
