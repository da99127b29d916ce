#include "switch/mirror_clock.h"

#include "clock/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { STAMPS = 2000, TURN_US = 1000, SLACK_NS = 1000000 };

static uint64_t wall_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Two seconds of stamps, over two lines: a stamp's time never changes, later stamps have later
 * times, and they match the wall clock. */
static void test_a_stamp_has_one_time(void **state)
{
	static uint64_t ticks[STAMPS], times[STAMPS];
	(void)state;
	mirror_clock_acquire();
	for (int i = 0; i < STAMPS; i++) {
		usleep(TURN_US);
		uint64_t before = wall_ns();
		ticks[i] = clock_ticks();
		uint64_t after = wall_ns();
		mirror_clock_keep();
		times[i] = mirror_clock_wall_ns(ticks[i]);
		assert_in_range(times[i], before - SLACK_NS, after + SLACK_NS);
		assert_true(i == 0 || times[i] > times[i - 1]);
	}
	/* Another mirror's writer converts the stamps later. */
	mirror_clock_acquire();
	for (int i = 0; i < STAMPS; i++)
		assert_int_equal(mirror_clock_wall_ns(ticks[i]), times[i]);
	mirror_clock_release();
	mirror_clock_release();
}

/* Stamps close to each other keep their distance, also where lines meet. */
static void test_lines_meet(void **state)
{
	(void)state;
	mirror_clock_acquire();
	usleep(1100000);
	uint64_t before = clock_ticks();
	mirror_clock_keep();
	uint64_t after = clock_ticks();
	uint64_t apart = clock_ticks_to_ns(&clock_global.scale, after - before);
	uint64_t told = mirror_clock_wall_ns(after) - mirror_clock_wall_ns(before);
	assert_in_range(told, apart - apart / 1000 - 2, apart + apart / 1000 + 2);
	mirror_clock_release();
}

int main(void)
{
	clock_init();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_stamp_has_one_time),
		cmocka_unit_test(test_lines_meet),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
