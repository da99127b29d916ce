#include "switch/limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* The clock of these tests: a tick is a nanosecond. */
#define HZ 1e9

static unsigned taken(struct limit *l, uint64_t now, unsigned tries)
{
	unsigned n = 0;
	while (tries-- > 0)
		n += limit_take(l, now);
	return n;
}

static void test_none_takes_all(void **state)
{
	struct limit l;
	(void)state;
	limit_init(&l, 0, HZ);
	assert_int_equal(taken(&l, 1, 100000), 100000);
}

static void test_bucket_holds_a_hundredth_of_a_second(void **state)
{
	struct limit l;
	(void)state;
	limit_init(&l, 1000000, HZ);
	assert_int_equal(taken(&l, 1000, 20000), 10000);
	/* However long the pause is. */
	assert_int_equal(taken(&l, 60000000000, 20000), 10000);
}

static void test_bucket_holds_a_burst_at_least(void **state)
{
	struct limit l;
	(void)state;
	limit_init(&l, 10, HZ);
	assert_int_equal(taken(&l, 1000, 1000), 64);
}

static void test_keeps_to_its_rate(void **state)
{
	struct limit l;
	unsigned n = 0;
	(void)state;
	limit_init(&l, 1000, HZ);
	assert_int_equal(taken(&l, 1000, 1000), 64);
	/* For ten seconds, ten times as many packets as may pass. */
	for (uint64_t i = 1; i <= 100000; i++)
		n += limit_take(&l, 1000 + i * 100000);
	assert_in_range(n, 9999, 10000);
}

/* Clocks of two CPUs may differ a little. */
static void test_time_that_goes_back_gives_nothing(void **state)
{
	struct limit l;
	(void)state;
	limit_init(&l, 1000, HZ);
	assert_int_equal(taken(&l, 5000000, 64), 64);
	assert_int_equal(taken(&l, 4000000, 10), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none_takes_all),
		cmocka_unit_test(test_bucket_holds_a_hundredth_of_a_second),
		cmocka_unit_test(test_bucket_holds_a_burst_at_least),
		cmocka_unit_test(test_keeps_to_its_rate),
		cmocka_unit_test(test_time_that_goes_back_gives_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
