/* Tests what a reading of the wall clock says, and that the kernel gives one. */
#include "clock/wall.h"

#include "test.h"

static void test_who_is_synchronised(void **state)
{
	(void)state;
	static const struct {
		int result, status;
		bool synchronised;
	} cases[] = {
		{TIME_OK, STA_PLL, true},
		{TIME_OK, 0, true}, /* phc2sys clears all but the leap seconds */
		{TIME_INS, STA_INS, true},
		{TIME_ERROR, STA_UNSYNC, false},
		{TIME_ERROR, STA_CLOCKERR, false},
		{-1, 0, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct clock_wall w = {0};
		struct timex t = {.status = cases[i].status, .maxerror = 31, .esterror = 16000000};
		clock_take_timex(&w, cases[i].result, &t);
		assert_int_equal(w.synchronised, cases[i].synchronised);
		assert_int_equal(w.max_error_ns, 31000);
	}
}

static void test_two_readings_agree(void **state)
{
	(void)state;
	struct clock_wall a, b;
	clock_init();
	assert_int_equal(clock_read_wall(&a), 0);
	assert_int_equal(clock_read_wall(&b), 0);
	assert_true(b.scale.base.ns >= a.scale.base.ns);
	assert_true(b.scale.base.ticks > a.scale.base.ticks);
	/* Nobody sets the time of the host meanwhile. */
	int64_t apart = b.ahead_ns - a.ahead_ns, allowed = (int64_t)a.bracket_ns + b.bracket_ns;
	assert_in_range(apart + allowed, 0, 2 * allowed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_is_synchronised),
		cmocka_unit_test(test_two_readings_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
