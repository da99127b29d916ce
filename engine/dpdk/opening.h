/*
 * opening: a device being opened in a thread of its own, because some drivers wait for
 * their peer meanwhile, for ever: a virtio-user that listens sits in accept(2), one
 * that connected in recv(2) until the other end speaks (vhost_user.c). The control
 * thread goes on and asks now and then.
 */
#ifndef NINES_OPENING_H
#define NINES_OPENING_H

#include "dpdk/device.h"

#include <stdint.h>

struct opening;

enum opening_state { OPENING_WAITS, OPENING_DONE, OPENING_FAILED };

/* Begins; -errno if that cannot be. `text` is copied. */
int opening_begin(struct opening **opening, const char *text, uint32_t frame_bytes, char *error,
		  size_t size);

/* Whether it is over, waiting for at most timeout_ns. Once it has failed, *error is why. */
enum opening_state opening_wait(struct opening *opening, uint64_t timeout_ns, int *err,
				const char **error);

/* The device of one that is done; and it is the caller's. Ends the opening. */
void opening_take(struct opening *opening, struct device *device);

/* Gives up one that failed or waits. */
void opening_cancel(struct opening *opening);

#endif
