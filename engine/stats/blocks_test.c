/* Tests which block a moment belongs to, and that the blocks add up. */
#include "stats/blocks.h"
#include "test.h"

static struct blocks blocks_of(uint64_t duration_ns, uint64_t begin_ticks, uint64_t ticks)
{
	struct blocks b;
	assert_int_equal(blocks_init(&b, duration_ns), 0);
	blocks_begin(&b, begin_ticks, begin_ticks + ticks);
	return b;
}

static void test_no_block_is_shorter_than_a_millisecond(void **state)
{
	(void)state;
	static const struct {
		uint64_t duration_ns;
		uint32_t count;
	} known[] = {
		{0, 1},
		{999999, 1},
		{1000000, 1},
		{2999999, 2},
		{99999999, 99},
		{100000000, 100},
		{UINT64_C(2000000000), 100},
		{UINT64_C(86400000000000), 100},
	};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		struct blocks b = blocks_of(known[i].duration_ns, 1000, known[i].duration_ns);
		assert_int_equal(b.count, known[i].count);
		assert_true(b.count == 1 || known[i].duration_ns / b.count >= BLOCK_LEAST_NS);
		blocks_free(&b);
	}
}

/* A thread that was away for several blocks continues in the one of the moment; what comes in the
 * drain is in the last. */
static void test_a_packet_is_in_the_block_of_its_moment(void **state)
{
	(void)state;
	enum { BEGIN = 5000, LENGTH = 10000000 };
	struct blocks b = blocks_of(UINT64_C(1000000000), BEGIN, UINT64_C(100) * LENGTH);
	static const struct {
		uint64_t ticks;
		uint32_t at;
	} moments[] = {
		{BEGIN, 0},
		{BEGIN + LENGTH - 1, 0},
		{BEGIN + LENGTH, 1},
		{BEGIN + 42 * (uint64_t)LENGTH + 7, 42},
		{BEGIN + 100 * (uint64_t)LENGTH - 1, 99},
		{BEGIN + 100 * (uint64_t)LENGTH, 99},
		{BEGIN + 170 * (uint64_t)LENGTH, 99},
	};
	for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
		blocks_look(&b, moments[i].ticks);
		assert_ptr_equal(b.now, &b.list[moments[i].at]);
		assert_int_equal(blocks_begun(&b, moments[i].ticks), moments[i].at + 1);
	}
	assert_int_equal(blocks_begun(&b, BEGIN - 1), 0);
	blocks_free(&b);
}

static void test_the_whole_is_the_sum(void **state)
{
	(void)state;
	struct blocks b = blocks_of(3000000, 0, 300);
	struct histogram *sum = malloc(sizeof *sum), *whole = malloc(sizeof *whole);
	histogram_clear(whole);
	for (uint64_t ticks = 0; ticks < 300; ticks += 7) {
		uint64_t ns = (ticks * 7919) % 100003;
		if (ticks / 100 == 1)
			continue; /* the second block stays empty */
		blocks_look(&b, ticks);
		histogram_record(b.now, ns);
		histogram_record(whole, ns);
	}
	blocks_sum(&b, sum);
	assert_int_equal(b.list[1].count, 0);
	assert_true(b.list[0].count > 0 && b.list[2].count > 0);
	assert_memory_equal(sum, whole, sizeof *whole);
	free(sum);
	free(whole);
	blocks_free(&b);
}

/* Time that does not count moves what is to come, and a trial that ends early has fewer. */
static void test_blocks_wait_and_end_early(void **state)
{
	(void)state;
	struct blocks b;
	assert_int_equal(blocks_init(&b, 10 * BLOCK_LEAST_NS), 0);
	blocks_begin(&b, 1000, 2000);
	assert_int_equal(b.count, 10);
	blocks_look(&b, 1150);
	assert_ptr_equal(b.now, &b.list[1]);
	blocks_shift(&b, 500);
	blocks_look(&b, 1650);
	assert_ptr_equal(b.now, &b.list[1]);
	blocks_look(&b, 1700);
	assert_ptr_equal(b.now, &b.list[2]);
	blocks_cut(&b, 1830);
	assert_int_equal(b.count, 4);
	assert_ptr_equal(b.now, &b.list[3]);
	blocks_look(&b, 5000);
	assert_ptr_equal(b.now, &b.list[3]);
	blocks_free(&b);
}

/* A packet that came in a pause is in a block that has not begun once the blocks have waited for it. */
static void test_a_cut_keeps_all_packets(void **state)
{
	(void)state;
	struct blocks b;
	static struct histogram sum;
	assert_int_equal(blocks_init(&b, 10 * 1000 * 1000), 0);
	blocks_begin(&b, 1000, 2000);
	blocks_look(&b, 1150);
	histogram_record(b.now, 7);
	blocks_look(&b, 1650);
	histogram_record(b.now, 9);
	blocks_shift(&b, 400);
	blocks_cut(&b, 1650);
	assert_int_equal(b.count, 3);
	blocks_sum(&b, &sum);
	assert_int_equal(sum.count, 2);
	assert_int_equal(sum.max, 9);
	blocks_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_block_is_shorter_than_a_millisecond),
		cmocka_unit_test(test_a_packet_is_in_the_block_of_its_moment),
		cmocka_unit_test(test_the_whole_is_the_sum),
		cmocka_unit_test(test_blocks_wait_and_end_early),
		cmocka_unit_test(test_a_cut_keeps_all_packets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
