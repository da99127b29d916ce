/* Tests that switches do not count as waits, and that other work does, however many switches there
 * are beside it. */
#include "role/waits.h"
#include "test.h"

#include <unistd.h>

static void add(struct waits *w, uint64_t runs, uint64_t delay_ns)
{
	struct thread_runs now = {w->last.count + runs, w->last.delay_ns + delay_ns};
	waits_add(w, now);
}

static void test_switches_are_no_waits(void **state)
{
	(void)state;
	struct waits w = {.fd = -1};
	for (int i = 0; i < 10000; i++)
		add(&w, 1, i % 2 ? 600 : 3200);
	add(&w, 8, 8 * WAITS_SWITCH_NS); /* of one that sleeps more often than it looks */
	add(&w, 0, 0); /* one that has not slept */
	assert_int_equal(w.waited_ns, 0);
}

/* One wake-up in a hundred waits for half a millisecond. The mean of all is like that of a switch. */
static void test_other_work_is_found_among_many_switches(void **state)
{
	(void)state;
	struct waits w = {.fd = -1};
	for (int i = 0; i < 10000; i++)
		add(&w, 1, i % 100 ? 600 : 500000);
	assert_int_equal(w.waited_ns, 100 * (500000 - WAITS_SWITCH_NS));
}

/* Without schedstat there is nothing to look at, and nothing fails. */
static void test_what_the_kernel_does_not_count(void **state)
{
	(void)state;
	struct clock_scale scale = {.ticks_per_ns = UINT64_C(1) << CLOCK_SHIFT};
	struct waits w;
	waits_begin(&w, &scale);
	if (w.fd >= 0)
		close(w.fd);
	w.fd = -1;
	w.begin = w.last = (struct thread_runs){0};
	waits_look(&w, UINT64_MAX);
	assert_int_equal(waits_end(&w).count, 0);
	assert_int_equal(w.waited_ns, 0);
}

/* The kernel's own counts: a thread that slept has run again. */
static void test_a_sleep_is_a_run(void **state)
{
	(void)state;
	clock_init();
	struct timespec pause = {.tv_nsec = 1000000};
	struct waits w;
	waits_begin(&w, &clock_global.scale);
	if (w.fd < 0) {
		print_message("this kernel has no schedstat\n");
		skip();
	}
	for (int i = 0; i < 10; i++) {
		waits_look(&w, clock_ticks());
		nanosleep(&pause, NULL);
	}
	assert_true(w.last.count - w.begin.count >= 8);
	assert_true(waits_end(&w).count >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switches_are_no_waits),
		cmocka_unit_test(test_other_work_is_found_among_many_switches),
		cmocka_unit_test(test_what_the_kernel_does_not_count),
		cmocka_unit_test(test_a_sleep_is_a_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
