/* How measuring threads sleep; see sleeper.h. */
#include "role/sleeper.h"
#include "clock/clock.h"
#include "port/socket.h"
#include "role/thread.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
	EVENTS_MAX = 2 * PORT_POLLFDS_MAX + 2,
	/* A timer that is set for the same time already rings this much later at most: the time is
	 * recalculated before each sleep. */
	SAME_NS = 250,
};

static int add(int epoll_fd, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};
	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* Without a timer, sleeper_sleep is thread_sleep. */
static int open_timer(struct sleeper *sleeper)
{
	sleeper->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	sleeper->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (sleeper->epoll_fd < 0 || sleeper->timer_fd < 0)
		return -1;
	/* Edge: it is never read. */
	return add(sleeper->epoll_fd, sleeper->timer_fd, EPOLLIN | EPOLLET);
}

void sleeper_open(struct sleeper *sleeper, struct port *const *ports, unsigned count, int stop_fd,
		  bool timed)
{
	struct pollfd fds[PORT_POLLFDS_MAX];
	int err = 0;
	*sleeper = (struct sleeper){
		.ports = ports, .count = count, .stop_fd = stop_fd, .epoll_fd = -1, .timer_fd = -1};
	enum port_wait wait = thread_wait(ports, count);
	if (wait == PORT_SPIN || (wait == PORT_BLOCK && !timed))
		return;
	if (wait == PORT_BLOCK)
		err = open_timer(sleeper);
	else
		sleeper->epoll_fd = socket_busy_epoll();
	if (sleeper->epoll_fd >= 0)
		err |= add(sleeper->epoll_fd, stop_fd, EPOLLIN);
	for (unsigned i = 0; i < count && sleeper->epoll_fd >= 0; i++) {
		unsigned n = ports[i] ? ports[i]->ops->pollfds(ports[i], fds, false) : 0;
		while (n > 0)
			err |= add(sleeper->epoll_fd, fds[--n].fd, EPOLLIN);
	}
	if (err)
		sleeper_close(sleeper);
}

void sleeper_close(struct sleeper *sleeper)
{
	if (sleeper->epoll_fd >= 0)
		close(sleeper->epoll_fd);
	if (sleeper->timer_fd >= 0)
		close(sleeper->timer_fd);
	sleeper->epoll_fd = sleeper->timer_fd = -1;
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

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u)};
}

/* Lets the timer ring at the time, or before it if it is set already. One that has rung while the
 * thread was awake is set again, which also clears its event. */
static void set_timer(struct sleeper *sleeper, uint64_t now_ns, uint64_t until_ns)
{
	if (sleeper->timer_ns > now_ns && sleeper->timer_ns <= until_ns + SAME_NS)
		return;
	struct itimerspec at = {.it_value = timespec_of(until_ns)};
	timerfd_settime(sleeper->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
	sleeper->timer_ns = until_ns;
}

void sleeper_stay_awake(struct sleeper *sleeper)
{
	static const struct itimerspec never;
	if (sleeper->timer_ns == 0)
		return;
	timerfd_settime(sleeper->timer_fd, 0, &never, NULL);
	sleeper->timer_ns = 0;
}

static int sleep_by_timer(struct sleeper *sleeper, uint64_t timeout_ns)
{
	struct epoll_event events[EVENTS_MAX];
	uint64_t now = clock_monotonic_ns(), until = now + timeout_ns;
	for (;;) {
		set_timer(sleeper, now, until);
		int n = epoll_wait(sleeper->epoll_fd, events, EVENTS_MAX, -1), ready = n;
		for (int i = 0; i < n; i++)
			if (events[i].data.fd == sleeper->timer_fd)
				ready--;
		if (ready == n)
			return n;
		sleeper->timer_ns = 0;
		now = clock_monotonic_ns();
		/* It may have been set for an earlier time. */
		if (ready > 0 || now >= until)
			return ready;
	}
}

int sleeper_sleep(struct sleeper *sleeper, uint64_t timeout_ns)
{
	struct timespec timeout = timespec_of(timeout_ns);
	struct epoll_event event;
	if (sleeper->timer_fd >= 0 && !thread_may_sleep(sleeper->ports, sleeper->count))
		return 1;
	if (sleeper->timer_fd >= 0)
		return sleep_by_timer(sleeper, timeout_ns);
	if (sleeper->epoll_fd >= 0 && !sleeper->polled)
		sleeper->polled = known(sleeper);
	if (!sleeper->polled)
		return thread_sleep(sleeper->ports, sleeper->count, NULL, sleeper->stop_fd,
				    timeout_ns);
	sleeper->polls++;
	return epoll_pwait2(sleeper->epoll_fd, &event, 1, &timeout, NULL);
}
