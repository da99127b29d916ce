/* kernel_filter: the programs of filter.bpf.c, loaded and attached to an interface or a socket.
 * The kernel detaches them when the process ends, even by a crash (BPF links). */
#ifndef NINES_KERNEL_FILTER_H
#define NINES_KERNEL_FILTER_H

#include "packet/signature.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_filter;

/* A UDP port of 0 means every frame. */

/* XDP into an AF_XDP socket: in native mode, or in generic mode if the driver has none. With
 * `sends`, the program is also ready for xdp_frames.h. Linux 5.18. -errno with a message. */
int kernel_filter_redirect(struct kernel_filter **out, int ifindex, uint16_t udp_port, bool sends,
			   char *error, size_t size);

/* Drops frames for the UDP port after AF_PACKET has seen them. Linux 6.6. */
int kernel_filter_drop(struct kernel_filter **out, int ifindex, uint16_t udp_port, char *error,
		       size_t size);

/* Counts the packets of a UDP socket by the way they came. Linux 4.18. */
int kernel_filter_witness(struct kernel_filter **out, int socket_fd,
			  const struct signature_flows *flows, char *error, size_t size);
/* Forgets what was counted, or reads it. */
int kernel_filter_forget(struct kernel_filter *f);
int kernel_filter_read(struct kernel_filter *f, struct signatures *out);

void kernel_filter_detach(struct kernel_filter *f);

/* The program's descriptor. */
int kernel_filter_program(const struct kernel_filter *f);

/* A map of the program: "sockets" is the XSKMAP to put a socket in; "burst" and "out" are the maps
 * of a program that sends. */
int kernel_filter_map(const struct kernel_filter *f, const char *name);

/* "native" or "generic". */
const char *kernel_filter_mode(const struct kernel_filter *f);

#endif
