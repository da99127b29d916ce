/* Waits with epoll's busy polling; see sleeper.h. */
#include "role/sleeper.h"
#include "port/socket.h"
#include "role/thread.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static int add(int epoll_fd, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

void sleeper_open(struct sleeper *sleeper, struct port *const *ports, unsigned count, int stop_fd)
{
	struct pollfd fds[PORT_POLLFDS_MAX];
	*sleeper = (struct sleeper){
		.ports = ports, .count = count, .stop_fd = stop_fd, .epoll_fd = -1};
	if (thread_wait(ports, count) != PORT_BUSY_POLL)
		return;
	sleeper->epoll_fd = socket_busy_epoll();
	if (sleeper->epoll_fd < 0)
		return;
	int err = add(sleeper->epoll_fd, stop_fd);
	for (unsigned i = 0; i < count; i++) {
		unsigned n = ports[i] ? ports[i]->ops->pollfds(ports[i], fds, false) : 0;
		while (n > 0)
			err |= add(sleeper->epoll_fd, fds[--n].fd);
	}
	if (err)
		sleeper_close(sleeper);
}

void sleeper_close(struct sleeper *sleeper)
{
	if (sleeper->epoll_fd >= 0)
		close(sleeper->epoll_fd);
	sleeper->epoll_fd = -1;
	sleeper->polled = false;
}

/* A socket knows the instance of its last packet after the first one, but never on a veth without
 * NAPI, and never with AF_PACKET. */
static bool known(const struct sleeper *sleeper)
{
	struct pollfd fds[PORT_POLLFDS_MAX];
	for (unsigned i = 0; i < sleeper->count; i++) {
		const struct port *port = sleeper->ports[i];
		unsigned n = port ? port->ops->pollfds(sleeper->ports[i], fds, false) : 0;
		while (n > 0)
			if (socket_napi(fds[--n].fd) != 0)
				return true;
	}
	return false;
}

int sleeper_sleep(struct sleeper *sleeper, uint64_t timeout_ns)
{
	struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
				   .tv_nsec = (long)(timeout_ns % 1000000000u)};
	struct epoll_event event;
	if (sleeper->epoll_fd >= 0 && !sleeper->polled)
		sleeper->polled = known(sleeper);
	if (!sleeper->polled)
		return thread_sleep(sleeper->ports, sleeper->count, NULL, sleeper->stop_fd,
				    timeout_ns);
	sleeper->polls++;
	return epoll_pwait2(sleeper->epoll_fd, &event, 1, &timeout, NULL);
}
