/* Reads and writes messages; see vhost_message.h. */
#include "port/vhost_message.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int wait_readable(int fd, int stop_fd)
{
	struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};
	while (poll(fds, 2, -1) < 0)
		if (errno != EINTR)
			return -errno;
	return fds[1].revents ? -ECANCELED : 0;
}

static void take_fds(struct msghdr *header, struct vhost_message *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		unsigned count = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		for (unsigned i = 0; i < count; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			if (m->fd_count < VHOST_FDS_MAX)
				m->fds[m->fd_count++] = fd;
			else
				close(fd);
		}
	}
}

/* Reads all of `bytes`, and the descriptors that come with them. */
static int read_all(int fd, int stop_fd, void *to, size_t bytes, struct vhost_message *m)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(VHOST_FDS_MAX * sizeof(int))];
	size_t done = 0;
	while (done < bytes) {
		struct iovec part = {(char *)to + done, bytes - done};
		struct msghdr header = {.msg_iov = &part,
					.msg_iovlen = 1,
					.msg_control = control,
					.msg_controllen = sizeof control};
		int err = wait_readable(fd, stop_fd);
		if (err)
			return err;
		ssize_t n = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n < 0)
			continue;
		take_fds(&header, m);
		if (header.msg_flags & MSG_CTRUNC)
			return -EMSGSIZE;
		done += (size_t)n;
	}
	return 0;
}

int vhost_message_read(int fd, int stop_fd, struct vhost_message *m)
{
	memset(m, 0, sizeof *m);
	for (unsigned i = 0; i < VHOST_FDS_MAX; i++)
		m->fds[i] = -1;
	int err = read_all(fd, stop_fd, m, VHOST_HEADER_BYTES, m);
	if (!err && (m->flags & VHOST_VERSION_MASK) != VHOST_VERSION)
		err = -EPROTONOSUPPORT;
	if (!err && m->bytes > sizeof m->payload)
		err = -EMSGSIZE;
	if (!err)
		err = read_all(fd, stop_fd, &m->payload, m->bytes, m);
	if (err)
		vhost_message_close_fds(m);
	return err;
}

int vhost_message_write(int fd, const struct vhost_message *m)
{
	struct iovec parts[2] = {{(void *)(uintptr_t)m, VHOST_HEADER_BYTES},
				 {(void *)(uintptr_t)&m->payload, m->bytes}};
	struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};
	/* Replies are few and short; a guest that does not read them is disconnected. */
	ssize_t n = sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0)
		return -errno;
	return (size_t)n == VHOST_HEADER_BYTES + m->bytes ? 0 : -EAGAIN;
}

void vhost_message_close_fds(struct vhost_message *m)
{
	for (unsigned i = 0; i < m->fd_count; i++)
		if (m->fds[i] >= 0)
			close(m->fds[i]);
	m->fd_count = 0;
}
