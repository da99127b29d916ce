/* Tests the conversion of ticks by pure arithmetic, and calibration against the clock. */
#include "clock/clock.h"
#include "test.h"

static struct clock_scale scale_at(double hz)
{
	clock_global.use_tsc = true;
	struct clock_point from = {.ticks = 1000000, .ns = 5000000000};
	struct clock_point to = {.ticks = 1000000 + (uint64_t)hz, .ns = 6000000000};
	return clock_scale_between(from, to);
}

static void test_conversion_is_exact_to_a_nanosecond(void **state)
{
	(void)state;
	static const double rates[] = {1e9, 2.6e9, 3.7e9, 24e6};
	for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
		struct clock_scale s = scale_at(rates[r]);
		/* From a nanosecond to a day. */
		for (uint64_t ns = 1; ns < UINT64_C(86400000000000); ns = ns * 3 + 1) {
			uint64_t ticks = clock_ns_to_ticks(&s, ns);
			long double true_ticks = (long double)ns * rates[r] / 1e9L;
			assert_true((long double)ticks - true_ticks <= 1);
			assert_true(true_ticks - (long double)ticks <= 1);
			long double true_ns = (long double)ticks * 1e9L / rates[r];
			long double got = (long double)clock_ticks_to_ns(&s, ticks);
			assert_true(got - true_ns <= 1 && true_ns - got <= 1);
		}
	}
}

static void test_moments_before_and_after_the_base(void **state)
{
	(void)state;
	struct clock_scale s = scale_at(2e9);
	uint64_t base = s.base.ticks;
	assert_int_equal(clock_at_ns(&s, base), 6000000000);
	assert_int_equal(clock_at_ns(&s, base + 2000), 6000001000);
	assert_int_equal(clock_at_ns(&s, base - 2000), 5999999000);
	assert_int_equal(clock_at_ticks(&s, 6000001000), base + 2000);
	assert_int_equal(clock_at_ticks(&s, 5999999000), base - 2000);
}

static void test_calibration_follows_the_clock(void **state)
{
	(void)state;
	clock_init();
	struct clock_scale s = clock_calibrate(50000000);
	/* The scale must agree with a point within the point's own uncertainty; a millisecond means
	 * a machine in trouble. */
	struct clock_point p = clock_read_point();
	int64_t off = (int64_t)(clock_at_ns(&s, p.ticks) - p.ns);
	assert_in_range(off + 1000000, 0, 2000000);
	assert_true(s.hz > 1e6);
	uint64_t before = clock_ticks(), after = clock_ticks();
	assert_true(after >= before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conversion_is_exact_to_a_nanosecond),
		cmocka_unit_test(test_moments_before_and_after_the_base),
		cmocka_unit_test(test_calibration_follows_the_clock),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
