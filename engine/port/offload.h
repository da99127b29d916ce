/* offload: what the kernel says about an interface's transmit side. */
#ifndef NINES_OFFLOAD_H
#define NINES_OFFLOAD_H

/* Whether a feature of `ethtool -k` is active: 1, 0, or -errno. */
int offload_active(const char *interface, const char *feature);

/* Whether traffic control holds packets that leave the interface (any queueing discipline but
 * noqueue and ingress): 1, 0, or -errno. */
int offload_queued(const char *interface);

/* The largest IP packet the interface takes, or -errno. */
int offload_mtu(const char *interface);

#endif
