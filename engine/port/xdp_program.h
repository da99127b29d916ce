/* xdp_program: the engine's XDP filter, loaded and attached to an interface. */
#ifndef NINES_XDP_PROGRAM_H
#define NINES_XDP_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

struct xdp_program_handle;

/* Attaches in native mode, or where the driver has none in generic mode; detached
 * by the kernel when the process ends, however it ends (a BPF link, Linux 5.9).
 * -errno with a message. */
int xdp_program_attach(struct xdp_program_handle **out, int ifindex, uint16_t udp_port, char *error,
		       size_t size);
void xdp_program_detach(struct xdp_program_handle *h);

/* The XSKMAP to put the socket in. */
int xdp_program_sockets(const struct xdp_program_handle *h);

/* "native" or "generic". */
const char *xdp_program_mode(const struct xdp_program_handle *h);

#endif
