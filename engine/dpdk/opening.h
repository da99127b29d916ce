/*
 * opening: opens a device in its own thread, because some drivers wait for their peer, possibly for
 * ever: a virtio-user that listens blocks in accept(2), one that has connected blocks in recv(2)
 * until the peer sends (vhost_user.c). The control thread continues, and checks from time to time.
 */
#ifndef NINES_OPENING_H
#define NINES_OPENING_H

#include "dpdk/device.h"

#include <stdint.h>

struct opening;

enum opening_state { OPENING_WAITS, OPENING_DONE, OPENING_FAILED };

/* Starts the thread, which calls device_open; -errno if that fails. `text` is copied. */
int opening_begin(struct opening **opening, const char *text, uint32_t frame_bytes, bool wakes,
		  char *error, size_t size);

/* Whether it is over; waits for at most timeout_ns. If it has failed, *error is the reason. */
enum opening_state opening_wait(struct opening *opening, uint64_t timeout_ns, int *err,
				const char **error);

/* Gives the opened device to the caller, and ends the opening. */
void opening_take(struct opening *opening, struct device *device);

/* Cancels an opening that failed or still waits. */
void opening_cancel(struct opening *opening);

#endif
