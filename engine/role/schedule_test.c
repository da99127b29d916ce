/* Tests the intended times: exact for constant, the right distribution for poisson. */
#include "role/schedule.h"
#include "test.h"

#include <math.h>

static void check_constant(uint64_t rate_upps, uint32_t burst, uint64_t packets)
{
	struct schedule_config config = {.rate_upps = rate_upps, .burst = burst};
	struct schedule s;
	schedule_init(&s, &config);
	for (uint64_t k = 0; k < packets; k++) {
		unsigned __int128 exact = (unsigned __int128)(k / burst) * burst *
					  UINT64_C(1000000000000000) / rate_upps;
		assert_int_equal(s.due_ns, (uint64_t)exact);
		schedule_advance(&s);
	}
}

static void test_constant_never_drifts(void **state)
{
	(void)state;
	check_constant(UINT64_C(1000000000), 1, 10000); /* 1 kpps */
	check_constant(UINT64_C(3000000), 1, 100000); /* 3 pps: 333333333.33 ns */
	check_constant(UINT64_C(148809520000), 1, 3000000); /* 100 Mbit/s of 64 bytes */
	check_constant(UINT64_C(7777777777777), 1, 3000000);
	check_constant(UINT64_C(7777777777), 32, 100000);
	check_constant(1, 1, 10); /* a packet in 11 days */
}

static void test_expected_counts_what_is_due(void **state)
{
	(void)state;
	static const uint64_t rates[] = {UINT64_C(1000000), UINT64_C(999999999),
					 UINT64_C(12345678901), UINT64_C(100000000000)};
	for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++)
		for (uint32_t burst = 1; burst < 40; burst += 6) {
			struct schedule_config config = {.rate_upps = rates[r], .burst = burst};
			struct schedule s;
			uint64_t n = 0, duration = 3000000007;
			schedule_init(&s, &config);
			for (; s.due_ns < duration; schedule_advance(&s))
				n++;
			assert_int_equal(schedule_expected(&config, duration), n);
		}
	struct schedule_config config = {.rate_upps = UINT64_C(100000000000), .burst = 1};
	assert_int_equal(schedule_expected(&config, 2000000000), 200000);
	config.rate_upps = 0;
	assert_int_equal(schedule_expected(&config, 2000000000), 0);
}

/* With mean m, n exponential gaps: their mean lies within 5 m / sqrt(n), and the share of gaps
 * above m within 5 standard errors of 1/e. The seed is fixed, so this either always or never
 * holds. */
static void test_poisson_is_exponential(void **state)
{
	(void)state;
	enum { N = 1000000 };
	struct schedule_config config = {.rate_upps = UINT64_C(100000000000),
					 .burst = 1,
					 .pattern = SCHEDULE_POISSON,
					 .seed = 42};
	struct schedule s;
	double mean = 10000, above = 0;
	uint64_t last = 0;
	schedule_init(&s, &config);
	for (int i = 0; i < N; i++) {
		schedule_advance(&s);
		assert_true(s.due_ns >= last);
		above += (double)(s.due_ns - last) > mean;
		last = s.due_ns;
	}
	assert_true(fabs((double)last / N - mean) < 5 * mean / sqrt(N));
	double share = exp(-1);
	assert_true(fabs(above / N - share) < 5 * sqrt(share * (1 - share) / N));
}

static void test_seeds_differ_and_repeat(void **state)
{
	(void)state;
	struct schedule_config config = {.rate_upps = UINT64_C(1000000000),
					 .burst = 1,
					 .pattern = SCHEDULE_POISSON,
					 .seed = 1};
	struct schedule a, b, c;
	schedule_init(&a, &config);
	schedule_init(&b, &config);
	config.seed = 2;
	schedule_init(&c, &config);
	for (int i = 0; i < 100; i++) {
		schedule_advance(&a);
		schedule_advance(&b);
		schedule_advance(&c);
		assert_int_equal(a.due_ns, b.due_ns);
	}
	assert_int_not_equal(a.due_ns, c.due_ns);
}

/* Both sides of a duet together are one schedule of twice the rate, of whose pairs of bursts each side has
 * one, first or second with the same chance. The seeds are fixed. */
static void check_duet(enum schedule_pattern pattern, uint32_t burst)
{
	enum { PAIRS = 20000 };
	struct schedule_config config = {.rate_upps = UINT64_C(7777777777),
					 .burst = burst,
					 .pattern = pattern,
					 .seed = 5,
					 .side_seed = 6};
	struct schedule both, side[2];
	uint64_t last = 0, runs = 0, before = 2, a_first = 0;
	config.side = SCHEDULE_SIDE_A;
	schedule_init(&side[0], &config);
	config.side = SCHEDULE_SIDE_B;
	schedule_init(&side[1], &config);
	config.side = SCHEDULE_ALONE;
	config.rate_upps *= 2;
	schedule_init(&both, &config);
	for (int pair = 0; pair < PAIRS; pair++) {
		unsigned first = side[1].due_ns < side[0].due_ns;
		a_first += first == 0;
		runs += first != before;
		before = first;
		for (uint32_t k = 0; k < 2 * burst; k++) {
			struct schedule *own = &side[k < burst ? first : !first];
			assert_int_equal(own->due_ns, both.due_ns);
			assert_true(own->due_ns >= last);
			last = own->due_ns;
			schedule_advance(own);
			schedule_advance(&both);
		}
	}
	/* 5 standard deviations of fair coins. */
	assert_in_range(a_first, PAIRS / 2 - 354, PAIRS / 2 + 354);
	assert_in_range(runs, PAIRS / 2 - 354, PAIRS / 2 + 354);
}

static void test_a_duet_shares_a_schedule(void **state)
{
	(void)state;
	check_duet(SCHEDULE_CONSTANT, 1);
	check_duet(SCHEDULE_CONSTANT, 8);
	check_duet(SCHEDULE_POISSON, 1);
	check_duet(SCHEDULE_POISSON, 3);
}

static void test_the_sides_are_counted_exactly(void **state)
{
	(void)state;
	for (uint64_t duration = 1; duration < 40; duration++) {
		struct schedule_config config = {.rate_upps = UINT64_C(500000000000000),
						 .burst = 1};
		uint64_t sum = 0;
		for (config.side = SCHEDULE_SIDE_A; config.side <= SCHEDULE_SIDE_B; config.side++) {
			uint64_t n = schedule_count(&config, duration);
			assert_in_range(n, duration / 2, duration / 2 + 1);
			sum += n;
		}
		assert_int_equal(sum, duration); /* a packet each ns, of either side */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constant_never_drifts),
		cmocka_unit_test(test_expected_counts_what_is_due),
		cmocka_unit_test(test_poisson_is_exponential),
		cmocka_unit_test(test_seeds_differ_and_repeat),
		cmocka_unit_test(test_a_duet_shares_a_schedule),
		cmocka_unit_test(test_the_sides_are_counted_exactly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
