/*
 * vhost_call: wakes a guest by its eventfd, and never waits for it.
 *
 * The guest shares the eventfd's description, so it can clear O_NONBLOCK and fill the counter
 * whenever it likes: a write(2) might then block the polling thread for ever. The kernel's own
 * signal to an eventfd never blocks. Asynchronous I/O sends it when a request that names an eventfd
 * completes (io_submit(2), IOCB_FLAG_RESFD), and a request to poll a file that is always ready
 * completes at once (Linux 4.18). This takes 0.6 µs instead of write's 0.15 µs.
 */
#ifndef NINES_VHOST_CALL_H
#define NINES_VHOST_CALL_H

#include <linux/aio_abi.h>

struct vhost_call {
	aio_context_t context; /* 0: not open */
	int ready_fd;
};

/* -errno: ENOSYS without CONFIG_AIO, EAGAIN when fs.aio-max-nr is reached. */
int vhost_call_open(struct vhost_call *c);
void vhost_call_close(struct vhost_call *c);

/* Adds 1 to the eventfd, or does nothing if it is -1. One thread at a time. */
void vhost_call(struct vhost_call *c, int eventfd);

#endif
