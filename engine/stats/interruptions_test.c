/* Tests that the gap meter lists every interruption, and counts what may hide one. */
#include "stats/interruptions.h"
#include "test.h"

struct meter {
	struct gaps gaps;
	struct interruptions *list;
	uint64_t now;
};

static struct meter meter(uint32_t room)
{
	struct meter m = {.now = 1000000};
	assert_int_equal(interruptions_new(&m.list, room), 0);
	gaps_init(&m.gaps, 1000);
	interruptions_begin(m.list, &m.gaps);
	gaps_begin(&m.gaps, m.now);
	gaps_turn(&m.gaps, m.now += 200, 0, 0); /* the only one after a sleep */
	return m;
}

static void turn(struct meter *m, unsigned received, unsigned sent, uint64_t ticks)
{
	gaps_turn(&m->gaps, m->now += ticks, received, sent);
}

static void learn(struct meter *m, unsigned received, unsigned sent, uint64_t ticks)
{
	for (unsigned i = 0; i <= GAPS_LEARN_TURNS; i++)
		turn(m, received, sent, ticks);
}

static void check_last(const struct meter *m, unsigned kind, uint64_t ticks)
{
	const struct interruption *last = &m->list->list[m->list->count - 1];
	assert_int_equal(last->kind, kind);
	assert_int_equal(last->length_ticks, ticks);
	assert_int_equal(last->at_ticks, m->now - ticks);
}

static void test_every_gap_is_listed(void **state)
{
	(void)state;
	struct meter m = meter(1000);
	learn(&m, 0, 0, 200);
	learn(&m, 1, 0, 3000);
	assert_int_equal(m.list->count, 0);
	/* More than the meter keeps of the longest. */
	for (uint64_t i = 0; i < 3 * GAPS_KEPT; i++) {
		turn(&m, 0, 0, 1601 + i);
		check_last(&m, 0, 1601 + i);
	}
	turn(&m, 1, 0, 24001);
	check_last(&m, 1, 24001);
	assert_int_equal(m.list->count, 3 * GAPS_KEPT + 1);
	assert_int_equal(m.list->count, m.gaps.count);
	assert_int_equal(m.list->overflow, 0);
	interruptions_free(m.list);
}

static void test_what_finds_no_room_is_counted(void **state)
{
	(void)state;
	struct meter m = meter(5);
	learn(&m, 0, 0, 200);
	for (uint64_t i = 0; i < 12; i++)
		turn(&m, 0, 0, 2000 + i);
	assert_int_equal(m.list->count, 5);
	assert_int_equal(m.list->overflow, 7);
	assert_int_equal(m.list->list[4].length_ticks, 2004);
	interruptions_free(m.list);
}

static void test_long_turns_below_the_threshold_are_counted(void **state)
{
	(void)state;
	struct meter m = meter(5);
	learn(&m, 0, 0, 200);
	learn(&m, 1, 0, 3000);
	uint64_t before = m.gaps.spent_ticks[0], gaps = m.gaps.count;
	turn(&m, 0, 0, 400); /* twice as long as usual, not longer */
	turn(&m, 0, 0, 401);
	turn(&m, 0, 0, 1000); /* the shortest that is listed at all */
	turn(&m, 0, 0, 1001); /* listed, and yet no gap: those begin at 1601 */
	assert_int_equal(m.gaps.count, gaps);
	turn(&m, 1, 0, 7000);
	assert_int_equal(m.list->count, 1);
	assert_int_equal(m.list->unlisted[0].count, 2);
	assert_int_equal(m.list->unlisted[0].ticks, 201 + 800);
	assert_int_equal(m.gaps.spent_ticks[0] - before, 400 + 401 + 1000);
	/* It makes up for the interruption until it has nothing to do. */
	assert_int_equal(m.list->unlisted[1].count, 0);
	turn(&m, 0, 0, 200);
	turn(&m, 1, 0, 7000);
	assert_int_equal(m.list->unlisted[1].count, 1);
	assert_int_equal(m.list->unlisted[1].ticks, 4000);
	turn(&m, 0, 0, 1601);
	gaps_begin(&m.gaps, m.now); /* it slept, so it had nothing to do */
	turn(&m, 0, 0, 200);
	turn(&m, 1, 0, 7000);
	assert_int_equal(m.list->unlisted[1].count, 2);
	interruptions_free(m.list);
}

/* A receiver that lost its CPU finds many packets, and never does otherwise: the shortest turn of that
 * kind tells nothing. */
static void test_turns_that_occur_only_when_interrupted(void **state)
{
	(void)state;
	enum { SIZE_64 = 7, SENT = GAPS_SIZES };
	struct meter m = meter(1000);
	learn(&m, 0, 0, 200);
	learn(&m, 0, 1, 2000);
	for (uint64_t i = 0; i < 2 * GAPS_LEARN_TURNS; i++) {
		turn(&m, 63, 1, 1000000);
		check_last(&m, SIZE_64 + SENT, 1000000);
		turn(&m, 0, 1, 2000);
	}
	assert_int_equal(m.list->count, 2 * GAPS_LEARN_TURNS);
	/* As long as twice 64 packets one by one: that is no interruption for sure. */
	turn(&m, 63, 1, 256000);
	assert_int_equal(m.list->count, 2 * GAPS_LEARN_TURNS);
	turn(&m, 63, 1, 256001);
	assert_int_equal(m.list->count, 2 * GAPS_LEARN_TURNS + 1);
	/* The same kind, twice as many packets. */
	turn(&m, 126, 1, 256001);
	assert_int_equal(m.list->count, 2 * GAPS_LEARN_TURNS + 1);
	interruptions_free(m.list);
}

/* Bursts that come anyway are a kind of their own, and quicker each than single packets. */
static void test_bursts_are_no_interruptions(void **state)
{
	(void)state;
	struct meter m = meter(1000);
	learn(&m, 1, 0, 2000);
	learn(&m, 64, 0, 30000);
	turn(&m, 64, 0, 120000);
	assert_int_equal(m.list->count, 0);
	turn(&m, 64, 0, 120001);
	assert_int_equal(m.list->count, 1);
	interruptions_free(m.list);
}

/* In its first turns a kind is compared with what is known of it so far. */
static void test_rare_turns_are_listed_too(void **state)
{
	(void)state;
	struct meter m = meter(1000);
	turn(&m, 0, 1, 2000);
	turn(&m, 0, 1, 4001);
	turn(&m, 0, 1, 50000);
	check_last(&m, 1 + GAPS_SIZES, 50000);
	assert_int_equal(m.list->count, 1);
	assert_int_equal(m.list->unlisted[1 + GAPS_SIZES].count, 1);
	interruptions_free(m.list);
}

static void test_kinds_have_names(void **state)
{
	(void)state;
	static const struct {
		unsigned kind;
		const char *name;
	} names[] = {
		{0, "turn 0"},
		{1, "turn 1"},
		{2, "turn 2-3"},
		{7, "turn 64-127"},
		{8, "turn 128+"},
		{GAPS_SIZES + 1, "turn 1 sent"},
		{GAPS_AWAKE, "turn 0 after sleep"},
		{GAPS_AWAKE + GAPS_SIZES + 3, "turn 4-7 sent after sleep"},
	};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char text[48];
		gaps_kind(names[i].kind, text, sizeof text);
		assert_string_equal(text, names[i].name);
	}
}

static void test_room_follows_the_time(void **state)
{
	(void)state;
	assert_int_equal(interruptions_room(0), INTERRUPTIONS_MIN);
	assert_int_equal(interruptions_room(10500000000), 11 * INTERRUPTIONS_PER_SECOND);
	assert_int_equal(interruptions_room(UINT64_C(86400000000000)), INTERRUPTIONS_MAX);
}

int main(void)
{
	clock_init();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_gap_is_listed),
		cmocka_unit_test(test_what_finds_no_room_is_counted),
		cmocka_unit_test(test_long_turns_below_the_threshold_are_counted),
		cmocka_unit_test(test_turns_that_occur_only_when_interrupted),
		cmocka_unit_test(test_bursts_are_no_interruptions),
		cmocka_unit_test(test_rare_turns_are_listed_too),
		cmocka_unit_test(test_kinds_have_names),
		cmocka_unit_test(test_room_follows_the_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
