/* Tests that the watch counts the time that others take of its CPUs, and nothing else. */
#include "role/watch.h"
#include "clock/clock.h"
#include "test.h"

#include <errno.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

static int first_cpu(void)
{
	cpu_set_t set;
	assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			return cpu;
	return -1;
}

enum { HOG_NS = 20000000, ANNOUNCED_NS = 50000 };

static uint64_t cpu_time_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Burns CPU time on one CPU. */
static void *hog(void *arg)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(*(int *)arg, &set);
	sched_setaffinity(0, sizeof set, &set);
	uint64_t begin = cpu_time_ns();
	while (cpu_time_ns() - begin < HOG_NS)
		;
	return NULL;
}

static void await_begin(const struct watch_cpu *c)
{
	while (__atomic_load_n(&c->begin_ticks, __ATOMIC_RELAXED) == 0)
		usleep(100);
}

/* Checks that each gap that is long enough was announced, with the right times. */
static void check_notices(const struct watch_cpu *c)
{
	const struct clock_scale *s = &clock_global.scale;
	const struct notices *n = c->notices;
	assert_true(n->head > 0);
	uint64_t longest = 0, end = 0;
	for (uint64_t at = n->head > n->capacity ? n->head - n->capacity : 0; at < n->head; at++) {
		const struct notice *one = &n->ring[at % n->capacity];
		assert_int_equal(one->sequence, at + 1);
		assert_true(one->latency_ns >= ANNOUNCED_NS);
		assert_int_equal(one->rx_cpu, c->cpu);
		assert_int_equal(one->place, NOTICE_SLOWEST);
		/* The times come from two clocks, which may differ by some microseconds. */
		assert_true(one->intended_ns + 1000000 > end);
		end = one->intended_ns + one->latency_ns;
		if (one->latency_ns > longest)
			longest = one->latency_ns;
	}
	if (n->head <= n->capacity)
		assert_int_equal(longest, clock_ticks_to_ns(s, c->gaps.max_ticks));
}

static void test_what_another_thread_takes_is_a_gap(void **state)
{
	(void)state;
	char error[128];
	struct watch *w;
	pthread_t thread;
	int cpu = first_cpu();
	struct watch_config config = {&cpu, 1, 64, ANNOUNCED_NS};
	assert_int_equal(watch_start(&w, &config, error, sizeof error), 0);
	await_begin(&w->cpus[0]);
	assert_int_equal(pthread_create(&thread, NULL, hog, &cpu), 0);
	pthread_join(thread, NULL);
	watch_stop(w);
	const struct watch_cpu *c = &w->cpus[0];
	const struct clock_scale *s = &clock_global.scale;
	uint64_t taken = clock_ticks_to_ns(s, c->gaps.total_ticks);
	uint64_t elapsed = clock_ticks_to_ns(s, c->end_ticks - c->begin_ticks);
	/* While the hog ran, the watch did not; context switches come on top. */
	assert_true(taken >= HOG_NS * 9 / 10);
	assert_true(taken <= elapsed);
	assert_int_equal(c->lengths.count, c->gaps.count);
	/* Each gap is converted separately and rounded down. */
	assert_true(c->lengths.sum <= taken);
	assert_true(c->lengths.sum + c->gaps.count >= taken);
	assert_int_equal(c->lengths.max, clock_ticks_to_ns(s, c->gaps.max_ticks));
	assert_int_equal(c->gaps.worst[0].length_ticks, c->gaps.max_ticks);
	assert_true(c->tid > 0);
	check_notices(c);
	watch_free(w);
}

static void test_a_cpu_that_is_not_there_starts_nothing(void **state)
{
	(void)state;
	char error[128] = "";
	struct watch *w = NULL;
	int cpus[] = {first_cpu(), 4095};
	struct watch_config config = {.cpus = cpus, .count = 2, .notices = 8};
	assert_true(watch_start(&w, &config, error, sizeof error) < 0);
	assert_null(w);
	assert_non_null(strstr(error, "CPU 4095"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_another_thread_takes_is_a_gap),
		cmocka_unit_test(test_a_cpu_that_is_not_there_starts_nothing),
	};
	clock_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
