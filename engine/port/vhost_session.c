/* Listens, connects, and runs the session's thread; see vhost_session.h. */
#include "port/vhost_session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	/* How often a client tries to connect, and the thread checks for torn memory. */
	TURN_MS = 100,
	STACK_BYTES = 256 << 10,
};

static void set_state(struct vhost_session *s, enum vhost_state state, const char *why)
{
	pthread_mutex_lock(&s->lock);
	s->state = state;
	snprintf(s->why, sizeof s->why, "%s", why);
	pthread_mutex_unlock(&s->lock);
}

void vhost_session_state(struct vhost_session *s, char *text, size_t size)
{
	static const char *const names[] = {"waiting", "connected", "up", "failed"};
	pthread_mutex_lock(&s->lock);
	bool broken = false;
	for (int i = 0; i < VHOST_RINGS; i++)
		broken = broken || atomic_load(&s->device.queues[i].broken);
	if (s->state == VHOST_UP && broken)
		snprintf(text, size, "failed: the guest's ring is invalid (its index jumped)");
	else
		snprintf(text, size, "%s%s%s", names[s->state], s->why[0] ? ": " : "", s->why);
	pthread_mutex_unlock(&s->lock);
}

/* Sleeps; true when the port is being stopped. */
static bool rest(struct vhost_session *s, int milliseconds)
{
	struct pollfd fd = {.fd = s->stop_fd, .events = POLLIN};
	return poll(&fd, 1, milliseconds) > 0;
}

static bool is_up(const struct vhost_session *s)
{
	for (int i = 0; i < VHOST_RINGS; i++)
		if (!vhost_guard_is_open(&s->device.queues[i].guard))
			return false;
	return true;
}

/* Handles one message. 0, or -errno when the connection is over. */
static int serve_message(struct vhost_session *s, int fd)
{
	struct vhost_message m;
	int err = vhost_message_read(fd, s->stop_fd, &m);
	if (err)
		return err;
	int result = vhost_device_handle(&s->device, &m);
	vhost_message_close_fds(&m);
	if (result == 1)
		result = vhost_message_write(fd, &m);
	if (result < 0)
		return result;
	set_state(s, is_up(s) ? VHOST_UP : VHOST_CONNECTED, "");
	return 0;
}

/* Serves until the guest leaves or misbehaves, or the port is stopped. */
static void serve(struct vhost_session *s, int fd)
{
	int err = 0;
	set_state(s, VHOST_CONNECTED, "");
	s->device.why[0] = '\0';
	while (!err) {
		struct pollfd fds[2] = {{.fd = fd, .events = POLLIN},
					{.fd = s->stop_fd, .events = POLLIN}};
		int n = poll(fds, 2, TURN_MS);
		if (fds[1].revents)
			err = -ECANCELED;
		else if (atomic_load(&s->device.memory.torn))
			err = -EFAULT;
		else if (n > 0)
			err = serve_message(s, fd);
	}
	vhost_device_reset(&s->device);
	if (err == -EFAULT)
		set_state(s, VHOST_FAILED, "the guest removed shared memory");
	else if (s->device.why[0])
		set_state(s, VHOST_FAILED, s->device.why);
	else if (err == -EMSGSIZE || err == -EPROTONOSUPPORT)
		set_state(s, VHOST_FAILED, "the peer does not speak vhost-user");
	else
		set_state(s, VHOST_WAITING, "");
}

static int address_of(const char *path, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address->sun_path)
		return -ENAMETOOLONG;
	memcpy(address->sun_path, path, strlen(path) + 1);
	return 0;
}

static int connect_to(const char *path)
{
	struct sockaddr_un address;
	int err = address_of(path, &address);
	if (err)
		return err;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address;
	int err = address_of(path, &address);
	if (err)
		return err;
	/* A socket file that a killed switch left would make bind fail, so it is removed; one that
	 * a running switch listens on is not. */
	int probe = connect_to(path);
	if (probe >= 0) {
		close(probe);
		return -EADDRINUSE;
	}
	if (probe == -ECONNREFUSED)
		unlink(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 1) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* The next guest's connection, or -errno: -EAGAIN if it does not exist yet. */
static int next_guest(struct vhost_session *s)
{
	if (!s->server)
		return connect_to(s->path);
	struct pollfd fds[2] = {{.fd = s->listener, .events = POLLIN},
				{.fd = s->stop_fd, .events = POLLIN}};
	if (poll(fds, 2, -1) <= 0 || fds[1].revents)
		return -EAGAIN;
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void *session_thread(void *arg)
{
	struct vhost_session *s = arg;
	pthread_setname_np(pthread_self(), "nines-vhost");
	while (!rest(s, 0)) {
		int fd = next_guest(s);
		if (fd >= 0) {
			serve(s, fd);
			close(fd);
		}
		/* Also after a guest that misbehaves, so that it cannot keep this CPU busy. */
		if ((fd < 0 || s->state == VHOST_FAILED) && rest(s, TURN_MS))
			break;
	}
	return NULL;
}

static int start_thread(struct vhost_session *s)
{
	pthread_attr_t attributes;
	int err = pthread_attr_init(&attributes);
	if (err)
		return -err;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	err = pthread_create(&s->thread, &attributes, session_thread, s);
	pthread_attr_destroy(&attributes);
	return -err;
}

int vhost_session_start(struct vhost_session *s, struct vhost_queue *queues, const char *path,
			bool server, char *error, size_t size)
{
	struct sockaddr_un address;
	vhost_device_init(&s->device, queues);
	s->path = path;
	s->server = server;
	s->listener = -1;
	pthread_mutex_init(&s->lock, NULL);
	snprintf(error, size, "the socket's path %s is longer than %zu bytes", path,
		 sizeof address.sun_path - 1);
	int err = address_of(path, &address);
	if (err)
		return err;
	snprintf(error, size, "cannot make an eventfd");
	s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->stop_fd < 0)
		return -errno;
	if (server) {
		err = s->listener = listen_at(path);
		snprintf(error, size, "cannot listen on %s%s", path,
			 err == -EADDRINUSE ? ": another process does" : "");
	}
	if (err >= 0) {
		snprintf(error, server && err < 0 ? 0 : size, "cannot start a thread");
		err = start_thread(s);
	}
	if (err < 0) {
		if (s->listener >= 0) {
			close(s->listener);
			unlink(path);
		}
		close(s->stop_fd);
	}
	return err;
}

void vhost_session_stop(struct vhost_session *s)
{
	const uint64_t one = 1;
	if (write(s->stop_fd, &one, sizeof one) < 0)
		return; /* cannot be full */
	pthread_join(s->thread, NULL);
	if (s->listener >= 0) {
		close(s->listener);
		unlink(s->path);
	}
	close(s->stop_fd);
	pthread_mutex_destroy(&s->lock);
}
