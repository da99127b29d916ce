/* Tests announcements, and the packets picked at random. */
#include "stats/notices.h"
#include "stats/sample.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static void test_a_notice_has_its_packets_times(void **state)
{
	(void)state;
	struct notices *n;
	assert_int_equal(notices_new(&n, 4), 0);
	assert_memory_equal(n->magic, NOTICES_MAGIC, 8);
	const struct clock_scale *scale = &clock_global.scale;
	for (uint32_t i = 0; i < 6; i++) {
		uint64_t before = clock_monotonic_ns();
		struct outlier o = {.latency_ns = 1000 + i,
				    .from_tx_ns = 900,
				    .rx_ticks = clock_ticks(),
				    .id = i};
		uint64_t after = clock_monotonic_ns();
		notices_put(n, &o, i == 5 ? 3 : NOTICE_SLOWEST, scale);
		const struct notice *notice = &n->ring[i % 4];
		uint64_t rx = notice->intended_ns + notice->latency_ns;
		/* Allows for two readings of two clocks, and the time they take. */
		assert_true(rx + 1000 > before && rx < after + 1000);
		assert_int_equal(notice->sequence, i + 1);
		assert_int_equal(notice->id, i);
		assert_int_equal(notice->place, i == 5 ? 3 : NOTICE_SLOWEST);
	}
	assert_int_equal(n->head, 6);
	/* The first two are overwritten. */
	assert_int_equal(n->ring[0].id, 4);
	assert_int_equal(n->ring[1].id, 5);
	/* The last notices can be read after the trial is over. */
	notices_retire(n);
	assert_int_equal(atomic_load(&n->head), 6);
	notices_retire(NULL);
	assert_int_equal(n->capacity, 4);
}

/* Runs a stream of packets through a sample; counts in `kept` how often each was kept at the
 * end. */
static void run_stream(uint32_t capacity, uint64_t packets, uint64_t seed, unsigned *kept)
{
	struct sample s;
	assert_int_equal(sample_init(&s, capacity, seed), 0);
	for (uint64_t i = 0; i < packets; i++) {
		struct outlier o = {.id = (uint32_t)i};
		if (sample_wants(&s, i))
			assert_true(sample_keep(&s, &o) < capacity);
	}
	assert_int_equal(s.size, packets < capacity ? packets : capacity);
	for (uint32_t i = 0; i < s.size; i++)
		kept[s.kept[i].id]++;
	sample_free(&s);
}

static void test_each_packet_is_picked_as_often(void **state)
{
	(void)state;
	enum { PLACES = 20, PACKETS = 1000, STREAMS = 4000, PARTS = 10 };
	unsigned kept[PACKETS] = {0}, parts[PARTS] = {0};
	for (unsigned seed = 0; seed < STREAMS; seed++)
		run_stream(PLACES, PACKETS, seed, kept);
	for (unsigned i = 0; i < PACKETS; i++)
		parts[i / (PACKETS / PARTS)] += kept[i];
	/* 8000 expected in each tenth of the stream; a standard deviation is 90. */
	for (unsigned i = 0; i < PARTS; i++)
		assert_in_range(parts[i], 8000 - 540, 8000 + 540);
}

static void test_a_short_stream_is_kept_whole(void **state)
{
	(void)state;
	unsigned kept[10] = {0};
	run_stream(20, 10, 1, kept);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(kept[i], 1);
	struct sample none;
	assert_int_equal(sample_init(&none, 0, 1), 0);
	for (uint64_t i = 0; i < 1000; i++)
		assert_false(sample_wants(&none, i));
	sample_free(&none);
}

/* Few of many are picked, so picking costs nothing: 200 ln(10^7 / 200) + 200. */
static void test_picking_becomes_rare(void **state)
{
	(void)state;
	struct sample s;
	unsigned picked = 0;
	assert_int_equal(sample_init(&s, 200, 7), 0);
	while (s.next < 10000000) {
		struct outlier o = {0};
		sample_keep(&s, &o);
		picked++;
	}
	assert_in_range(picked, 200, 3 * (200 + 200 * 11));
	sample_free(&s);
}

int main(void)
{
	clock_init();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_notice_has_its_packets_times),
		cmocka_unit_test(test_each_packet_is_picked_as_often),
		cmocka_unit_test(test_a_short_stream_is_kept_whole),
		cmocka_unit_test(test_picking_becomes_rare),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
