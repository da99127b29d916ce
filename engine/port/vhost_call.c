/* Wakes a guest without waiting; see vhost_call.h. */
#include "port/vhost_call.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int vhost_call_open(struct vhost_call *c)
{
	*c = (struct vhost_call){.ready_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)};
	if (c->ready_fd < 0 || syscall(SYS_io_setup, 1, &c->context) < 0) {
		int err = -errno;
		vhost_call_close(c);
		return err;
	}
	return 0;
}

void vhost_call_close(struct vhost_call *c)
{
	if (c->context)
		syscall(SYS_io_destroy, c->context);
	if (c->ready_fd >= 0)
		close(c->ready_fd);
	*c = (struct vhost_call){.ready_fd = -1};
}

void vhost_call(struct vhost_call *c, int eventfd)
{
	struct timespec now = {0};
	struct io_event done;
	struct iocb request = {
		.aio_lio_opcode = IOCB_CMD_POLL,
		.aio_fildes = (uint32_t)c->ready_fd,
		.aio_buf = POLLIN,
		.aio_flags = IOCB_FLAG_RESFD,
		.aio_resfd = (uint32_t)eventfd,
	};
	struct iocb *requests[] = {&request};
	if (syscall(SYS_io_submit, c->context, 1, requests) == 1)
		syscall(SYS_io_getevents, c->context, 1, 1, &done, &now);
}
