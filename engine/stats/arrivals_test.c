/* Tests the rows of the arrivals as a reader sees them. */
#include "stats/arrivals.h"
#include "test.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int memory;
static char file[32];

static int make_memory(void **state)
{
	(void)state;
	memory = memfd_create("test", 0);
	assert_true(memory >= 0);
	snprintf(file, sizeof file, "fd:%d", memory);
	return 0;
}

static int free_memory(void **state)
{
	(void)state;
	return close(memory);
}

static struct arrivals *opened(uint64_t expected)
{
	struct arrivals_config config = {
		.file = file, .expected = expected, .duration_ns = 1000000000};
	struct arrivals *a;
	assert_int_equal(arrivals_open(&a, &config), 0);
	arrivals_begin(a, 1600, 3200, &clock_global.scale);
	return a;
}

static void burst(struct arrivals *a, uint64_t now, uint32_t first_id, uint32_t count,
		  uint64_t latency_ns, uint32_t mark)
{
	uint64_t *rows = arrivals_begin_burst(a, now);
	uint32_t ids[ARRIVALS_BURST];
	for (uint32_t i = 0; rows && i < count; i++) {
		rows[i] = arrivals_row(latency_ns + i, mark);
		ids[i] = first_id + i;
	}
	arrivals_end_burst(a, ids, count);
}

/* The file, as a process that shares it sees it. */
static const struct arrivals_header *reader(void)
{
	struct stat status;
	assert_int_equal(fstat(memory, &status), 0);
	void *at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, memory, 0);
	assert_true(at != MAP_FAILED);
	return at;
}

static const uint64_t *rows_of(const struct arrivals_header *h)
{
	return (const uint64_t *)(h + 1);
}

static void test_rows_tell_arrival_and_latency(void **state)
{
	(void)state;
	struct arrivals *a = opened(100);
	const struct arrivals_header *h = reader();
	struct arrivals_header final;
	assert_memory_equal(h->magic, ARRIVALS_MAGIC, 8);
	assert_int_equal(h->base_ticks, 1600);
	assert_int_equal(h->written, 0);
	burst(a, 1600 + 5 * 16 + 3, 0, 2, 700, ARRIVALS_SIDE_B);
	/* Readers see them at once. */
	assert_int_equal(h->written, 2);
	assert_int_equal(h->state, ARRIVALS_RUNNING);
	burst(a, 1600 + 9 * 16, 2, 1, UINT64_C(5000000000), 0);
	assert_int_equal(h->written, 3);
	static const uint64_t want[] = {
		UINT64_C(700) << 32 | ARRIVALS_SIDE_B | 5,
		UINT64_C(701) << 32 | ARRIVALS_SIDE_B,
		UINT64_C(0xffffffff) << 32 | 4,
	};
	assert_memory_equal(rows_of(h), want, sizeof want);
	/* Those of a pause are listed again. */
	arrivals_lost(a, 3, 1, 0);
	arrivals_lost_untold(a, 1);
	arrivals_found(a);
	arrivals_lost(a, 3, 12345, 0);
	arrivals_lost(a, 4, 99, ARRIVALS_SIDE_B);
	arrivals_lost_untold(a, 7);
	arrivals_close(a, 42, &final);
	assert_int_equal(h->state, ARRIVALS_ENDED);
	assert_int_equal(h->ns_per_tick, 42);
	assert_int_equal(h->lost, 2);
	assert_int_equal(h->lost_missed, 7);
	assert_int_equal(h->saturated, 1);
	assert_int_equal(rows_of(h)[h->capacity - 1], 12345);
	assert_int_equal(rows_of(h)[h->capacity - 2], UINT64_C(1) << 63 | 99);
	assert_memory_equal(h, &final, sizeof final);
}

static void test_long_times_take_rows_of_their_own(void **state)
{
	(void)state;
	struct arrivals *a = opened(10);
	struct arrivals_header final;
	const struct arrivals_header *h = reader();
	uint64_t units = 2 * (uint64_t)ARRIVALS_CARRY + 17;
	burst(a, 1600 + units * 16, 0, 1, 5, 0);
	/* A CPU's counter that is behind another's moves nothing back. */
	burst(a, 1600 + (units - 1) * 16, 1, 1, 5, 0);
	burst(a, 1600 + (units + 2) * 16, 2, 1, 5, 0);
	assert_int_equal(h->written, 5);
	assert_int_equal(rows_of(h)[0], ARRIVALS_CARRY);
	assert_int_equal(rows_of(h)[1], ARRIVALS_CARRY);
	assert_int_equal(rows_of(h)[2] & ARRIVALS_CARRY, 17);
	assert_int_equal(rows_of(h)[3] & ARRIVALS_CARRY, 0);
	assert_int_equal(rows_of(h)[4] & ARRIVALS_CARRY, 2);
	arrivals_close(a, 1, &final);
}

static void test_a_packet_is_alone_if_all_before_had_arrived(void **state)
{
	(void)state;
	struct arrivals *a = opened(10);
	struct arrivals_header final;
	const struct arrivals_header *h = reader();
	uint64_t gap = clock_ns_to_ticks(&clock_global.scale, 1000);
	burst(a, 1600 + gap, 0, 2, 900, 0);
	burst(a, 1600 + 2 * gap, 2, 1, 1100, 0);
	burst(a, 1600 + 3 * gap, 3, 1, 900, 0);
	static const bool want[] = {true, false, false, true};
	for (int i = 0; i < 4; i++)
		assert_int_equal(!!(rows_of(h)[i] & ARRIVALS_ALONE), want[i]);
	arrivals_close(a, 1, &final);
}

/* More packets than fit: 1 in k, evenly, whether they arrive or are lost. */
static void test_what_does_not_fit_is_thinned_out_by_id(void **state)
{
	(void)state;
	enum { ROWS_MAX = ARRIVALS_BYTES_MAX / ARRIVALS_ROW_BYTES };
	struct arrivals *a = opened(3 * (uint64_t)ROWS_MAX - 1000);
	struct arrivals_header final;
	const struct arrivals_header *h = reader();
	assert_int_equal(h->one_in, 3);
	uint64_t now = 1600;
	for (uint32_t id = 0; id < 3 * 4096; id += 64)
		burst(a, now += 160, id, 64, 1000, 0);
	assert_in_range(h->written, 4096 - 5, 4096 + 5);
	/* Of the first packets of bursts of 64, too. */
	unsigned firsts = 0;
	for (uint32_t id = 0; id < 64 * 300; id += 64)
		firsts += arrivals_chosen(a, id);
	assert_in_range(firsts, 100 - 5, 100 + 5);
	for (uint32_t id = 0; id < 3 * 4096; id++)
		arrivals_lost(a, id, id, 0);
	uint64_t arrived = h->written;
	assert_int_equal(h->lost, arrived);
	uint64_t ticks = h->base_ticks;
	for (uint64_t i = 0; i < arrived; i++)
		ticks += (rows_of(h)[i] & ARRIVALS_CARRY) * 16;
	assert_int_equal(ticks, now);
	arrivals_close(a, 1, &final);
}

static void test_packets_without_room_are_counted(void **state)
{
	(void)state;
	struct arrivals *a = opened(100);
	struct arrivals_header final;
	const struct arrivals_header *h = reader();
	uint64_t put = 0;
	for (uint64_t now = 1600; put < 100 + 1000; now += 16, put += 50)
		burst(a, now, (uint32_t)put, 50, 10, 0);
	assert_true(h->written >= 100 && h->written <= h->capacity);
	for (uint32_t i = 0; i < 1000; i++)
		arrivals_lost(a, i, i, 0);
	arrivals_close(a, 1, &final);
	assert_int_equal(final.written + final.missed, put);
	assert_int_equal(final.lost + final.lost_missed, 1000);
	assert_int_equal(final.written + final.lost, final.capacity);
}

static void test_a_file_on_a_disk_is_refused(void **state)
{
	(void)state;
	char path[] = "/var/tmp/nines-arrivals-XXXXXX";
	int fd = mkstemp(path);
	struct arrivals *a;
	struct arrivals_config config = {.file = path, .expected = 1};
	struct stat status;
	assert_true(fd >= 0 && fstat(fd, &status) == 0);
	int err = arrivals_open(&a, &config);
	/* Where even that folder is in memory, it is none. */
	assert_true(err == -EMEDIUMTYPE || err == 0);
	if (err == 0) {
		struct arrivals_header final;
		arrivals_close(a, 1, &final);
	}
	unlink(path);
	close(fd);
	config.file = "fd:1x";
	assert_int_equal(arrivals_open(&a, &config), -EINVAL);
}

int main(void)
{
	clock_init();
#define CASE(test) cmocka_unit_test_setup_teardown(test, make_memory, free_memory)
	const struct CMUnitTest tests[] = {
		CASE(test_rows_tell_arrival_and_latency),
		CASE(test_long_times_take_rows_of_their_own),
		CASE(test_a_packet_is_alone_if_all_before_had_arrived),
		CASE(test_what_does_not_fit_is_thinned_out_by_id),
		CASE(test_packets_without_room_are_counted),
		CASE(test_a_file_on_a_disk_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
