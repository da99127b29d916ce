/* Tests that a blocking thread sleeps until its packets, until the time, or until it is stopped, and
 * that no timer of an earlier sleep ends a later one. */
#include "role/sleeper.h"
#include "clock/clock.h"
#include "test.h"

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { MS = 1000000 };
#define HOUR_NS UINT64_C(3600000000000)

/* A port whose packet is an event. */
static int packet_fd, stop_fd;

static unsigned pollfds(struct port *port, struct pollfd *fds, bool want_tx)
{
	(void)port, (void)want_tx;
	fds[0] = (struct pollfd){.fd = packet_fd, .events = POLLIN};
	return 1;
}

static const struct port_ops ops = {.name = "event", .pollfds = pollfds};
static struct port port = {.ops = &ops, .config.wait = PORT_BLOCK};
static struct port *const ports[1] = {&port};

static void arrive(int fd)
{
	uint64_t one = 1;
	assert_int_equal(write(fd, &one, sizeof one), sizeof one);
}

static void take(int fd)
{
	uint64_t count;
	assert_int_equal(read(fd, &count, sizeof count), sizeof count);
}

static int begin(void **state)
{
	static struct sleeper sleeper;
	packet_fd = eventfd(0, EFD_NONBLOCK);
	stop_fd = eventfd(0, EFD_NONBLOCK);
	sleeper_open(&sleeper, ports, 1, stop_fd, true);
	*state = &sleeper;
	return 0;
}

static int end(void **state)
{
	sleeper_close(*state);
	close(packet_fd);
	close(stop_fd);
	return 0;
}

/* Sleeps, and returns how long. */
static uint64_t slept(struct sleeper *sleeper, uint64_t timeout_ns, int want)
{
	uint64_t begin_ns = clock_monotonic_ns();
	assert_int_equal(sleeper_sleep(sleeper, timeout_ns), want);
	return clock_monotonic_ns() - begin_ns;
}

static void test_wakes_by_packet_and_stop(void **state)
{
	arrive(packet_fd);
	slept(*state, HOUR_NS, 1);
	slept(*state, HOUR_NS, 1); /* until it is taken */
	take(packet_fd);
	arrive(stop_fd);
	slept(*state, HOUR_NS, 1);
}

static void test_sleeps_its_time(void **state)
{
	for (int i = 0; i < 3; i++)
		assert_true(slept(*state, 5 * MS, 0) >= 5 * MS);
}

/* The timer of a sleep that a packet ended stays set. */
static void test_an_earlier_timer_ends_no_sleep(void **state)
{
	arrive(packet_fd);
	slept(*state, 2 * MS, 1);
	take(packet_fd);
	assert_true(slept(*state, 50 * MS, 0) >= 50 * MS);
}

static void test_a_timer_that_rang_meanwhile_ends_no_sleep(void **state)
{
	struct timespec longer = {.tv_nsec = 5 * MS};
	arrive(packet_fd);
	slept(*state, 1 * MS, 1);
	take(packet_fd);
	nanosleep(&longer, NULL);
	assert_true(slept(*state, 20 * MS, 0) >= 20 * MS);
}

/* Otherwise the test takes an hour. */
static void test_a_later_timer_delays_no_sleep(void **state)
{
	arrive(packet_fd);
	slept(*state, HOUR_NS, 1);
	take(packet_fd);
	slept(*state, 1 * MS, 0);
}

static void test_a_packet_counts_more_than_the_time(void **state)
{
	struct timespec longer = {.tv_nsec = 5 * MS};
	struct sleeper *sleeper = *state;
	arrive(packet_fd);
	slept(sleeper, 1 * MS, 1);
	nanosleep(&longer, NULL);
	slept(sleeper, 1 * MS, 1);
}

/* What a thread that stays awake is spared: it never sees the timer itself. */
static void test_a_timer_is_taken_back(void **state)
{
	struct sleeper *sleeper = *state;
	struct itimerspec left;
	arrive(packet_fd);
	slept(sleeper, HOUR_NS, 1);
	take(packet_fd);
	sleeper_stay_awake(sleeper);
	assert_int_equal(timerfd_gettime(sleeper->timer_fd, &left), 0);
	assert_int_equal(left.it_value.tv_sec, 0);
	assert_int_equal(left.it_value.tv_nsec, 0);
	sleeper_stay_awake(sleeper); /* again, with none */
	assert_true(slept(sleeper, 5 * MS, 0) >= 5 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_wakes_by_packet_and_stop, begin, end),
		cmocka_unit_test_setup_teardown(test_sleeps_its_time, begin, end),
		cmocka_unit_test_setup_teardown(test_an_earlier_timer_ends_no_sleep, begin, end),
		cmocka_unit_test_setup_teardown(test_a_timer_that_rang_meanwhile_ends_no_sleep,
						begin, end),
		cmocka_unit_test_setup_teardown(test_a_later_timer_delays_no_sleep, begin, end),
		cmocka_unit_test_setup_teardown(test_a_packet_counts_more_than_the_time, begin,
						end),
		cmocka_unit_test_setup_teardown(test_a_timer_is_taken_back, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
