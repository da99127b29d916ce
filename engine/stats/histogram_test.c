/* Tests the index layout against values of HdrHistogram itself: counts indices from
 * hdrhistogram-go v1.4.0 (New(1, 60000000000, 3), RecordValue, Export), and its
 * counts array's length. */
#include "stats/histogram.h"
#include "test.h"

static void test_index_is_hdrhistograms(void **state)
{
	(void)state;
	static const struct {
		uint64_t value;
		uint32_t index;
	} known[] = {
		{0, 0},
		{1, 1},
		{2047, 2047},
		{2048, 2048},
		{2049, 2048},
		{2050, 2049},
		{4095, 3071},
		{4096, 3072},
		{4099, 3072},
		{4100, 3073},
		{10000, 4322},
		{1000000, 11169},
		{1000000000, 21363},
		{UINT64_C(60000000000), 27388},
	};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		assert_int_equal(histogram_index(known[i].value), known[i].index);
	assert_int_equal(HISTOGRAM_COUNTS, 27648);
}

static void test_value_at_is_the_lowest_of_its_index(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < HISTOGRAM_COUNTS; i++) {
		uint64_t lowest = histogram_value_at(i);
		assert_int_equal(histogram_index(lowest), i);
		if (lowest > 0)
			assert_int_equal(histogram_index(lowest - 1), i - 1);
	}
}

static void test_values_keep_three_digits(void **state)
{
	(void)state;
	for (uint64_t v = 1; v < HISTOGRAM_HIGHEST_NS; v += v / 7 + 1) {
		uint64_t kept = histogram_value_at(histogram_index(v));
		assert_true(kept <= v && (v - kept) * 1000 <= v);
	}
}

static void test_record_keeps_extremes_exact(void **state)
{
	(void)state;
	struct histogram *h = malloc(sizeof *h);
	histogram_clear(h);
	histogram_record(h, 123457);
	histogram_record(h, 0);
	histogram_record(h, UINT64_C(61000000001));
	assert_int_equal(h->count, 3);
	assert_int_equal(h->min, 0);
	assert_int_equal(h->max, UINT64_C(61000000001));
	assert_int_equal(h->sum, UINT64_C(61000123458));
	assert_int_equal(h->counts[histogram_index(HISTOGRAM_HIGHEST_NS)], 1);
	free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index_is_hdrhistograms),
		cmocka_unit_test(test_value_at_is_the_lowest_of_its_index),
		cmocka_unit_test(test_values_keep_three_digits),
		cmocka_unit_test(test_record_keeps_extremes_exact),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
