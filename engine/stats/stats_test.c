/* Tests the bitmap over ids, the heap of the slowest, the gap meter, seconds, the
 * recorder. */
#include "stats/gaps.h"
#include "stats/rate.h"
#include "stats/recorder.h"
#include "stats/seen.h"
#include "stats/worst.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_seen_tells_what_came(void **state)
{
	(void)state;
	struct seen s;
	assert_int_equal(seen_init(&s, 1000, 1), 0);
	assert_int_equal(seen_record(&s, 0), SEEN_UNIQUE);
	assert_int_equal(seen_record(&s, 0), SEEN_DUPLICATE);
	assert_int_equal(seen_record(&s, 5), SEEN_UNIQUE);
	assert_int_equal(seen_record(&s, 3), SEEN_REORDERED);
	assert_int_equal(seen_record(&s, 3), SEEN_DUPLICATE);
	assert_int_equal(seen_record(&s, 999), SEEN_UNIQUE);
	assert_int_equal(seen_record(&s, 64), SEEN_REORDERED);
	assert_int_equal(s.unique, 5);
	assert_int_equal(s.duplicate, 2);
	assert_int_equal(s.reordered, 2);
	assert_int_equal(s.late, 0);
	seen_free(&s);
}

/* Compares random orders with a plain array. */
static void test_seen_tells_what_did_not_come(void **state)
{
	(void)state;
	static const struct {
		unsigned from, count; /* two gaps among 300 ids */
		unsigned other_from, other;
		struct seen_missing want;
	} cases[] = {
		{0, 0, 0, 0, {0, 0, 0}},	{0, 70, 0, 0, {1, 70, 0}},
		{63, 2, 0, 0, {1, 2, 63}},	{64, 128, 0, 0, {1, 128, 64}},
		{10, 5, 100, 90, {2, 90, 100}}, {1, 1, 298, 1, {2, 1, 1}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct seen s;
		struct seen_missing got;
		assert_int_equal(seen_init(&s, 300, 1), 0);
		for (unsigned id = 0; id < 300; id++)
			if (id - cases[i].from >= cases[i].count &&
			    id - cases[i].other_from >= cases[i].other)
				seen_record(&s, id);
		assert_true(seen_missing(&s, &got));
		assert_int_equal(got.runs, cases[i].want.runs);
		assert_int_equal(got.longest, cases[i].want.longest);
		assert_int_equal(got.longest_from, cases[i].want.longest_from);
		seen_free(&s);
	}
	struct seen s;
	struct seen_missing got;
	assert_int_equal(seen_init(&s, 4096, 1), 0);
	for (unsigned id = 0; id < 5000; id++)
		seen_record(&s, id);
	assert_false(seen_missing(&s, &got));
	seen_free(&s);
}

static void test_seen_agrees_with_a_plain_array(void **state)
{
	(void)state;
	enum { IDS = 5000 };
	for (unsigned seed = 1; seed <= 20; seed++) {
		struct seen s;
		uint8_t *came = calloc(IDS, 1);
		uint64_t unique = 0, duplicate = 0, reordered = 0, largest = 0;
		bool any = false;
		srand(seed);
		assert_int_equal(seen_init(&s, IDS, 1), 0);
		for (int i = 0; i < 8000; i++) {
			uint32_t id = (uint32_t)(rand() % IDS);
			seen_record(&s, id);
			if (came[id]) {
				duplicate++;
			} else {
				unique++;
				if (any && id < largest)
					reordered++;
			}
			came[id] = 1;
			if (!any || id > largest)
				largest = id;
			any = true;
		}
		assert_int_equal(s.unique, unique);
		assert_int_equal(s.duplicate, duplicate);
		assert_int_equal(s.reordered, reordered);
		seen_free(&s);
		free(came);
	}
}

static void test_seen_window_slides(void **state)
{
	(void)state;
	struct seen s;
	assert_int_equal(seen_init(&s, 4096, 1), 0);
	for (uint32_t id = 0; id < 100000; id++)
		assert_int_equal(seen_record(&s, id), SEEN_UNIQUE);
	assert_int_equal(seen_record(&s, 99000), SEEN_DUPLICATE);
	assert_int_equal(seen_record(&s, 100), SEEN_LATE);
	/* A jump longer than the window forgets the past. */
	assert_int_equal(seen_record(&s, 1000000), SEEN_UNIQUE);
	assert_int_equal(seen_record(&s, 999999), SEEN_REORDERED);
	seen_free(&s);
}

static void test_seen_ids_go_on_beyond_32_bits(void **state)
{
	(void)state;
	struct seen s;
	assert_int_equal(seen_init(&s, 0, 1), 0);
	s.next = UINT32_MAX - 1;
	s.last_word = s.next >> 6;
	assert_int_equal(seen_record(&s, UINT32_MAX - 1), SEEN_UNIQUE);
	assert_int_equal(seen_record(&s, UINT32_MAX), SEEN_UNIQUE);
	assert_int_equal(seen_record(&s, 0), SEEN_UNIQUE);
	assert_int_equal(seen_record(&s, 1), SEEN_UNIQUE);
	assert_int_equal(seen_record(&s, UINT32_MAX), SEEN_DUPLICATE);
	assert_int_equal(s.next, (UINT64_C(1) << 32) + 2);
	seen_free(&s);
}

static int descending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x < y) - (x > y);
}

static void test_worst_keeps_the_largest(void **state)
{
	(void)state;
	enum { N = 10000, KEEP = 100 };
	static uint64_t all[N];
	struct worst w;
	assert_int_equal(worst_init(&w, KEEP), 0);
	srand(7);
	for (uint32_t i = 0; i < N; i++) {
		all[i] = (uint64_t)rand() * 1000 + i;
		struct outlier o = {.latency_ns = all[i], .id = i};
		if (worst_wants(&w, o.latency_ns))
			worst_insert(&w, &o);
	}
	worst_sort(&w);
	qsort(all, N, sizeof all[0], descending);
	assert_int_equal(w.size, KEEP);
	for (int i = 0; i < KEEP; i++)
		assert_int_equal(w.heap[i].latency_ns, all[i]);
	worst_free(&w);
}

static void test_worst_of_none(void **state)
{
	(void)state;
	struct worst w;
	assert_int_equal(worst_init(&w, 0), 0);
	assert_false(worst_wants(&w, UINT64_MAX));
	worst_sort(&w);
	worst_free(&w);
}

static void learn(struct gaps *g, uint64_t *now, unsigned packets, uint64_t length)
{
	for (int i = 0; i <= GAPS_LEARN_TURNS; i++) {
		*now += length;
		gaps_turn(g, *now, packets, 0);
	}
}

static void test_gaps_compares_like_with_like(void **state)
{
	(void)state;
	struct gaps g;
	uint64_t now = 0;
	gaps_init(&g, 1000);
	gaps_begin(&g, now);
	learn(&g, &now, 0, 200);
	learn(&g, &now, 1, 3000);
	assert_int_equal(g.count, 0);
	gaps_turn(&g, now += 20000, 1, 0); /* below 8 * 3000 */
	assert_int_equal(g.count, 0);
	uint64_t at = now;
	gaps_turn(&g, now += 24001, 1, 0);
	assert_int_equal(g.count, 1);
	assert_int_equal(g.worst[0].at_ticks, at);
	assert_int_equal(g.worst[0].length_ticks, 24001);
	gaps_turn(&g, now += 1600, 0, 0); /* not above 8 * 200 */
	assert_int_equal(g.count, 1);
	gaps_turn(&g, now += 1601, 0, 0);
	assert_int_equal(g.count, 2);
	assert_int_equal(g.total_ticks, 24001 + 1601);
	assert_int_equal(g.max_ticks, 24001);
	assert_int_equal(gaps_threshold(&g), 1600);
}

/* Neither is waking late, as much as it differs: the CPU was idle. */
/* The turn in which a thread ends is none, but for an interruption. */
static void test_gaps_leaves_within_a_turn(void **state)
{
	(void)state;
	struct gaps g;
	uint64_t now = 0;
	gaps_init(&g, 1000);
	gaps_begin(&g, now);
	learn(&g, &now, 0, 200);
	gaps_leave(&g, now + 3);
	assert_int_equal(gaps_usual(&g, 0), 200);
	assert_int_equal(g.count, 0);
	gaps_leave(&g, now + 1601);
	assert_int_equal(g.count, 1);
}

static void test_gaps_sleep_is_none(void **state)
{
	(void)state;
	struct gaps g;
	uint64_t now = 0;
	gaps_init(&g, 1000);
	gaps_begin(&g, now);
	learn(&g, &now, 0, 200);
	for (int i = 0; i <= GAPS_LEARN_TURNS; i++)
		gaps_woken(&g, now, now + 500);
	gaps_begin(&g, now += 1000000);
	gaps_turn(&g, now += 200, 0, 0);
	gaps_woken(&g, now, now + 140000);
	gaps_woken(&g, now, now - 1); /* early, by the rounding of clocks */
	gaps_begin(&g, now += 140000);
	gaps_turn(&g, now += 200, 0, 0);
	assert_int_equal(g.count, 0);
	assert_int_equal(g.wakes.count, GAPS_LEARN_TURNS + 3);
	assert_int_equal(g.wakes.total_ticks, 500 * (GAPS_LEARN_TURNS + 1) + 140000);
	assert_int_equal(g.wakes.max_ticks, 140000);
	gaps_turn(&g, now += 140000, 0, 0); /* awake, it is a gap */
	assert_int_equal(g.count, 1);
}

/* A turn that receives is short, one that sends long, and the first after a sleep longer. */
static void test_gaps_tells_sends_and_sleeps_apart(void **state)
{
	(void)state;
	struct gaps g;
	uint64_t now = 0;
	gaps_init(&g, 1000);
	gaps_begin(&g, now);
	learn(&g, &now, 1, 1000);
	for (int i = 0; i <= GAPS_LEARN_TURNS; i++)
		gaps_turn(&g, now += 10000, 0, 1);
	for (int i = 0; i <= GAPS_LEARN_TURNS; i++) {
		gaps_begin(&g, now);
		gaps_turn(&g, now += i % 2 ? 20000 : 180000, 0, 1);
	}
	assert_int_equal(g.count, 0);
	gaps_begin(&g, now);
	gaps_turn(&g, now += 800000, 0, 1); /* 8 times the mean */
	assert_int_equal(g.count, 0);
	gaps_begin(&g, now);
	gaps_turn(&g, now += 800001, 0, 1);
	assert_int_equal(g.count, 1);
	gaps_turn(&g, now += 80001, 0, 1);
	assert_int_equal(g.count, 2);
	gaps_turn(&g, now += 8001, 1, 0);
	assert_int_equal(g.count, 3);
}

static void test_gaps_knows_the_largest_bursts(void **state)
{
	(void)state;
	struct gaps g;
	uint64_t now = 0;
	gaps_init(&g, 1000);
	gaps_begin(&g, now);
	learn(&g, &now, 128, 3000);
	gaps_turn(&g, now += 24001, 4096, 0);
	assert_int_equal(g.count, 1);
}

static void test_gaps_keeps_the_longest(void **state)
{
	(void)state;
	struct gaps g;
	gaps_init(&g, 1);
	for (uint64_t i = 0; i < 1000; i++)
		gaps_add(&g, i, (i * 7919) % 1000 + 1);
	gaps_sort(&g);
	assert_int_equal(g.kept, GAPS_KEPT);
	assert_int_equal(g.count, 1000);
	for (uint32_t i = 0; i < GAPS_KEPT; i++)
		assert_int_equal(g.worst[i].length_ticks, 1000 - i);
}

static void test_rate_counts_by_second(void **state)
{
	(void)state;
	uint64_t counts[3] = {0};
	struct rate_counter r;
	rate_init(&r, counts, 3, 500, 100);
	rate_count(&r, 450, 1); /* before the start: in the first second */
	rate_count(&r, 599, 2);
	rate_count(&r, 600, 4);
	rate_count(&r, 10000, 8); /* after the end: in the last */
	assert_int_equal(counts[0], 3);
	assert_int_equal(counts[1], 4);
	assert_int_equal(counts[2], 8);
}

/* Writes records with ids from 0, as a trial does. */
static struct recorder_outcome record_many(const char *file, uint64_t expected, uint32_t count,
					   const struct recorder_header *header)
{
	struct recorder_config config = {.file = file, .expected = expected, .measuring_cpu = -1};
	struct recorder_outcome outcome;
	struct recorder *r;
	assert_int_equal(recorder_open(&r, &config), 0);
	for (uint32_t i = 0; i < count; i++)
		recorder_put(r, i, 2 * i, 3 * (uint64_t)i);
	recorder_close(r, header, &outcome);
	return outcome;
}

static void check_records(int fd, uint32_t count)
{
	struct record record;
	for (uint32_t i = 0; i < count; i++) {
		off_t at = (off_t)(sizeof(struct recorder_header) + i * sizeof record);
		assert_int_equal(pread(fd, &record, sizeof record, at), sizeof record);
		assert_int_equal(record.id, i);
		assert_int_equal(record.before_ns, 2 * i);
		assert_int_equal(record.ticks, 3 * (uint64_t)i);
	}
	struct stat status;
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_size, sizeof(struct recorder_header) + count * sizeof record);
}

/* Tests without and with a writer: no record, less than a chunk, whole chunks, more. */
static void test_recorder_stores_every_packet(void **state)
{
	(void)state;
	static const uint32_t counts[] = {0, 5, 2 * RECORDER_CHUNK, 3 * RECORDER_CHUNK + 17};
	char path[] = "/tmp/nines-recorder-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	struct recorder_header header = {.magic = RECORDER_MAGIC, .version = RECORDER_VERSION}, got;
	for (size_t i = 0; i < 2 * sizeof counts / sizeof counts[0]; i++) {
		uint32_t count = counts[i / 2];
		struct recorder_outcome o = record_many(path, i % 2 ? count : 0, count, &header);
		assert_int_equal(o.written, count);
		assert_int_equal(o.lost, 0);
		assert_int_equal(o.error, 0);
		assert_int_equal(pread(fd, &got, sizeof got, 0), sizeof got);
		assert_memory_equal(&got, &header, sizeof got);
		check_records(fd, count);
	}
	close(fd);
	unlink(path);
}

static void test_recorder_takes_a_file_that_is_open(void **state)
{
	(void)state;
	char path[] = "/tmp/nines-recorder-XXXXXX", file[32];
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	unlink(path); /* as nines does, so that no file is ever left behind */
	snprintf(file, sizeof file, "fd:%d", fd);
	struct recorder_header header = {.magic = RECORDER_MAGIC}, zero = {0}, got;
	record_many(file, 0, 50000, &header);
	check_records(fd, 50000);
	/* A shorter recording overwrites the old one, and without an end there is no header. */
	record_many(file, 100, 100, NULL);
	check_records(fd, 100);
	assert_int_equal(pread(fd, &got, sizeof got, 0), sizeof got);
	assert_memory_equal(&got, &zero, sizeof got);
	close(fd);
}

/* More packets than expected fill the ring: it keeps the first records and loses the rest. */
static void test_recorder_counts_what_it_has_no_room_for(void **state)
{
	(void)state;
	enum { ROOM = RECORDER_CHUNKS_MIN * RECORDER_CHUNK };
	char path[] = "/tmp/nines-recorder-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	struct recorder_header header = {.magic = RECORDER_MAGIC};
	struct recorder_outcome o = record_many(path, 1, ROOM + 1234, &header);
	assert_int_equal(o.written, ROOM);
	assert_int_equal(o.lost, 1234);
	assert_int_equal(o.error, 0);
	check_records(fd, ROOM);
	close(fd);
	unlink(path);
}

static void test_recorder_counts_what_a_full_disk_costs(void **state)
{
	(void)state;
	enum { COUNT = 8 * RECORDER_CHUNK + 5, LIMIT = 3 * RECORDER_CHUNK };
	char path[] = "/tmp/nines-recorder-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	/* The kernel refuses to write beyond the limit, as on a full disk. */
	struct rlimit old, limit;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = sizeof(struct recorder_header) + LIMIT * sizeof(struct record);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (int threaded = 0; threaded < 2; threaded++) {
		struct recorder_header header = {.magic = RECORDER_MAGIC};
		struct recorder_outcome o = record_many(path, threaded ? 0 : COUNT, COUNT, &header);
		assert_int_equal(o.written, LIMIT);
		assert_int_equal(o.lost, COUNT - LIMIT);
		assert_int_equal(o.error, -EFBIG);
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	close(fd);
	unlink(path);
}

static int open_error(const char *file)
{
	struct recorder_config config = {.file = file, .expected = 1, .measuring_cpu = -1};
	struct recorder *r;
	return recorder_open(&r, &config);
}

static void test_recorder_refuses_what_is_no_place(void **state)
{
	(void)state;
	assert_int_equal(open_error("/nonexistent/file"), -ENOENT);
	assert_int_equal(open_error("/dev/full"), -ENOSPC);
	assert_int_equal(open_error("fd:"), -EINVAL);
	assert_int_equal(open_error("fd:3x"), -EINVAL);
	assert_int_equal(open_error("fd:-1"), -EINVAL);
	assert_int_equal(open_error("fd:99999"), -EBADF);
	int ends[2];
	char file[32];
	assert_int_equal(pipe(ends), 0);
	snprintf(file, sizeof file, "fd:%d", ends[1]);
	assert_int_equal(open_error(file), -EINVAL);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seen_tells_what_came),
		cmocka_unit_test(test_seen_tells_what_did_not_come),
		cmocka_unit_test(test_seen_agrees_with_a_plain_array),
		cmocka_unit_test(test_seen_window_slides),
		cmocka_unit_test(test_seen_ids_go_on_beyond_32_bits),
		cmocka_unit_test(test_worst_keeps_the_largest),
		cmocka_unit_test(test_worst_of_none),
		cmocka_unit_test(test_gaps_compares_like_with_like),
		cmocka_unit_test(test_gaps_leaves_within_a_turn),
		cmocka_unit_test(test_gaps_sleep_is_none),
		cmocka_unit_test(test_gaps_tells_sends_and_sleeps_apart),
		cmocka_unit_test(test_gaps_knows_the_largest_bursts),
		cmocka_unit_test(test_gaps_keeps_the_longest),
		cmocka_unit_test(test_rate_counts_by_second),
		cmocka_unit_test(test_recorder_stores_every_packet),
		cmocka_unit_test(test_recorder_takes_a_file_that_is_open),
		cmocka_unit_test(test_recorder_counts_what_it_has_no_room_for),
		cmocka_unit_test(test_recorder_counts_what_a_full_disk_costs),
		cmocka_unit_test(test_recorder_refuses_what_is_no_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
