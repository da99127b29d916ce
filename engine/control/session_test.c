/* Tests whole sessions over a pair of pipes: order of answers, events, bad lines,
 * serving, aborting, and every packet that the fault port touched. */
#include "control/session.h"
#include "test.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct fixture {
	struct engine engine;
	int to[2], from[2], signal_fd;
	pthread_t thread;
	FILE *answers;
};

static void *run(void *arg)
{
	struct fixture *f = arg;
	session_stdio(&f->engine, f->to[0], f->from[1], f->signal_fd);
	engine_close(&f->engine);
	close(f->from[1]);
	return NULL;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	if (!f || pipe(f->to) < 0 || pipe(f->from) < 0)
		return -1;
	/* Replaces the signalfd: readable means a signal. */
	f->signal_fd = eventfd(0, 0);
	f->answers = fdopen(f->from[0], "r");
	*state = f;
	return pthread_create(&f->thread, NULL, run, f);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	if (f->to[1] >= 0)
		close(f->to[1]);
	pthread_join(f->thread, NULL);
	fclose(f->answers);
	close(f->to[0]);
	close(f->signal_fd);
	free(f);
	return 0;
}

static void say(struct fixture *f, const char *line)
{
	assert_int_equal(write(f->to[1], line, strlen(line)), (ssize_t)strlen(line));
	assert_int_equal(write(f->to[1], "\n", 1), 1);
}

static json_t *hear(struct fixture *f)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t n = getline(&line, &size, f->answers);
	assert_true(n > 0);
	json_t *o = json_loads(line, 0, NULL);
	free(line);
	assert_non_null(o);
	return o;
}

static const char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));
	return s ? s : "";
}

static uint64_t number(const json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);
	assert_true(json_is_integer(v));
	return (uint64_t)json_integer_value(v);
}

/* A count of a trial's first stream. */
static uint64_t counted(const json_t *o, const char *key)
{
	return number(json_array_get(json_object_get(o, "streams"), 0), key);
}

static void expect(struct fixture *f, const char *line, const char *reply, bool ok)
{
	say(f, line);
	json_t *o = hear(f);
	assert_string_equal(text(o, "reply"), reply);
	assert_int_equal(json_is_true(json_object_get(o, "ok")), ok);
	json_decref(o);
}

/* Sends a trial and returns its answer; events come before it. */
static json_t *trial(struct fixture *f, const char *line)
{
	say(f, line);
	json_t *o = hear(f);
	assert_string_equal(text(o, "event"), "started");
	/* By the clock of the start, which is not long after. */
	assert_true(number(o, "now_ns") > 0 && number(o, "now_ns") <= clock_monotonic_ns());
	while (json_object_get(o, "event")) {
		json_decref(o);
		o = hear(f);
	}
	assert_string_equal(text(o, "reply"), "trial");
	assert_true(json_is_true(json_object_get(o, "ok")));
	return o;
}

#define LOOP                                                                              \
	"{\"cmd\":\"open\",\"port\":\"a\",\"backend\":\"memory\",\"interface\":\"loop\"," \
	"\"wait\":\"spin\",\"io\":\"batch\"}"

static void test_answers_come_in_order(void **state)
{
	struct fixture *f = *state;
	say(f, "{\"cmd\":\"hello\"}");
	say(f, "rubbish");
	say(f, "");
	say(f, "{\"cmd\":\"stats\"}");
	say(f, "{\"cmd\":\"stop\"}");
	json_t *o = hear(f);
	assert_string_equal(text(o, "reply"), "hello");
	assert_int_equal(number(o, "protocol"), PROTOCOL_VERSION);
	json_decref(o);
	o = hear(f);
	assert_string_equal(text(o, "reply"), "?");
	json_decref(o);
	o = hear(f);
	assert_string_equal(text(o, "reply"), "stats");
	json_decref(o);
	o = hear(f);
	assert_string_equal(text(o, "reply"), "stop");
	assert_string_equal(text(o, "errno"), "ESRCH");
	json_decref(o);
}

static void test_a_long_line_is_refused_and_skipped(void **state)
{
	struct fixture *f = *state;
	size_t length = COMMAND_LINE_MAX + 1000;
	char *line = malloc(length + 1);
	memset(line, ' ', length);
	line[length] = '\0';
	/* The pipe is smaller than the line: the session reads while we write. */
	say(f, line);
	free(line);
	json_t *o = hear(f);
	assert_string_equal(text(o, "reply"), "?");
	assert_string_equal(text(o, "errno"), "E2BIG");
	json_decref(o);
	expect(f, "{\"cmd\":\"hello\"}", "hello", true);
}

static void test_a_loop_counts_every_packet(void **state)
{
	struct fixture *f = *state;
	expect(f, LOOP, "open", true);
	expect(f, LOOP, "open", false);
	json_t *o = NULL;
	/* If the host takes the core away for as long as the trial lasts, nothing is sent. */
	for (int i = 0; i < 20 && (!o || counted(o, "tx_packets") < 10); i++) {
		json_decref(o);
		o = trial(
			f,
			"{\"cmd\":\"trial\",\"role\":\"loop\",\"streams\":[{\"tx\":\"a\",\"rx\":\"a\","
			"\"rate_pps\":50000}],\"warmup_ns\":10000000,\"duration_ns\":100000000,"
			"\"drain_ns\":1000000000,\"outliers\":10}");
	}
	assert_int_equal(counted(o, "intended_packets"), 5000);
	/* If it takes it away for a part of that, the end of the trial is cut off. */
	assert_true(counted(o, "tx_packets") <= 5000);
	assert_int_equal(counted(o, "tx_packets"), counted(o, "rx_packets"));
	assert_int_equal(counted(o, "duplicate_packets"), 0);
	assert_int_equal(number(o, "invalid_packets"), 0);
	assert_int_equal(number(json_object_get(o, "latency"), "count"), counted(o, "rx_packets"));
	assert_int_equal(number(o, "measured_start_ns") - number(o, "start_ns"), 10000000);
	/* "NINESBLK" as base64; bulk_test.c reads the rest. */
	assert_memory_equal(text(o, "bulk"), "TklORVNCTEs", 11);
	json_decref(o);
	expect(f, "{\"cmd\":\"close\",\"port\":\"a\"}", "close", true);
	expect(f, "{\"cmd\":\"close\",\"port\":\"a\"}", "close", false);
}

static uint64_t drop(const json_t *o, const char *name)
{
	size_t i;
	json_t *d;
	json_array_foreach(json_object_get(o, "drops"), i, d)
	{
		if (strcmp(text(d, "name"), name) == 0)
			return number(d, "count");
	}
	fail_msg("no counter %s", name);
	return 0;
}

static struct record *read_records(int fd, enum recorder_kind kind, uint64_t count,
				   struct recorder_header *header)
{
	struct record *records = calloc(count + 1, sizeof *records);
	size_t bytes = count * sizeof *records;
	assert_non_null(records);
	assert_int_equal(pread(fd, header, sizeof *header, 0), sizeof *header);
	assert_memory_equal(header->magic, RECORDER_MAGIC, sizeof header->magic);
	assert_int_equal(header->kind, kind);
	assert_int_equal(pread(fd, records, bytes + 1, sizeof *header), bytes);
	return records;
}

/* Compares the records of a trial without a loss of ids with its answer. */
static void check_recording(const json_t *o, int sent_fd, int received_fd)
{
	struct recorder_header header;
	uint64_t count = counted(o, "tx_packets"), least = UINT64_MAX, most = 0, next = 0;
	uint64_t arrivals = counted(o, "rx_packets") + counted(o, "duplicate_packets");
	uint64_t unique = 0, reordered = 0, lag_most = 0;
	struct record *sent = read_records(sent_fd, RECORDER_SENT, count, &header);
	struct record *received = read_records(received_fd, RECORDER_RECEIVED, arrivals, &header);
	uint8_t *seen = calloc(count, 1);
	assert_non_null(seen);
	assert_int_equal(header.measured_start_ns, number(o, "measured_start_ns"));
	struct clock_scale scale = {.ns_per_tick = header.ns_per_tick};
	for (uint64_t i = 0; i < count; i++) {
		assert_int_equal(sent[i].id, i);
		if (sent[i].before_ns > lag_most)
			lag_most = sent[i].before_ns;
	}
	for (uint64_t i = 0; i < arrivals; i++) {
		uint32_t id = received[i].id;
		assert_true(id < count);
		if (seen[id]++)
			continue;
		unique++;
		reordered += id < next;
		if (id >= next)
			next = id + 1;
		uint64_t ticks = received[i].ticks - sent[id].ticks;
		uint64_t latency = clock_ticks_to_ns(&scale, ticks) + sent[id].before_ns;
		least = latency < least ? latency : least;
		most = latency > most ? latency : most;
	}
	if (unique == 0) /* a host that took the CPU away for all of the trial */
		least = 0;
	assert_int_equal(unique, counted(o, "rx_packets"));
	assert_int_equal(reordered, counted(o, "reordered_packets"));
	assert_int_equal(least, number(json_object_get(o, "latency"), "min"));
	assert_int_equal(most, number(json_object_get(o, "latency"), "max"));
	assert_int_equal(lag_most, number(json_object_get(o, "send_lag"), "max"));
	free(seen);
	free(sent);
	free(received);
}

static int unnamed_file(void)
{
	char path[] = "/tmp/nines-recording-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	unlink(path);
	return fd;
}

static void test_every_fault_is_accounted_for(void **state)
{
	struct fixture *f = *state;
	char line[512];
	int sent_fd = unnamed_file(), received_fd = unnamed_file();
	uint64_t total[5] = {0};
	for (unsigned seed = 1; seed <= 12; seed++) {
		snprintf(line, sizeof line,
			 "{\"cmd\":\"open\",\"port\":\"f\",\"backend\":\"fault\","
			 "\"interface\":\"loop\",\"wait\":\"spin\",\"io\":\"%s\","
			 "\"frame_bytes\":%u,\"flows\":%u,\"fault\":{\"drop\":0.02,"
			 "\"duplicate\":0.03,\"reorder\":0.04,\"corrupt\":0.02,\"delay\":0.02,"
			 "\"delay_ns\":300000,\"seed\":%u}}",
			 seed % 2 ? "single" : "batch", 64 + 100 * (seed % 5), seed, seed);
		expect(f, line, "open", true);
		snprintf(
			line, sizeof line,
			"{\"cmd\":\"trial\",\"role\":\"loop\",\"streams\":[{\"tx\":\"f\",\"rx\":\"f\","
			"\"rate_pps\":100000}],\"duration_ns\":50000000,\"drain_ns\":30000000,"
			"\"record_sent\":\"fd:%d\",\"record_received\":\"fd:%d\"}",
			sent_fd, received_fd);
		json_t *o = trial(f, line);
		uint64_t sent = counted(o, "tx_packets"), unique = counted(o, "rx_packets");
		uint64_t lost = drop(o, "fault_dropped") + drop(o, "fault_corrupted") +
				drop(o, "fault_held") + drop(o, "fault_overflow");
		assert_int_equal(drop(o, "fault_overflow"), 0);
		assert_true(drop(o, "fault_held") <= 5000);
		assert_int_equal(sent, unique + lost);
		assert_int_equal(number(o, "invalid_packets"), drop(o, "fault_corrupted"));
		assert_int_equal(counted(o, "duplicate_packets"), drop(o, "fault_duplicated"));
		assert_int_equal(counted(o, "reordered_packets"), drop(o, "fault_reordered"));
		assert_int_equal(number(json_object_get(o, "latency"), "count"), unique);
		static const char *const names[5] = {"fault_dropped", "fault_duplicated",
						     "fault_reordered", "fault_corrupted",
						     "fault_delayed"};
		for (int i = 0; i < 5; i++)
			total[i] += drop(o, names[i]);
		json_t *recordings = json_object_get(o, "recordings");
		assert_int_equal(number(json_array_get(recordings, 0), "records"), sent);
		assert_int_equal(number(json_array_get(recordings, 0), "lost"), 0);
		assert_int_equal(number(json_array_get(recordings, 1), "records"),
				 unique + counted(o, "duplicate_packets"));
		check_recording(o, sent_fd, received_fd);
		json_decref(o);
		expect(f, "{\"cmd\":\"close\",\"port\":\"f\"}", "close", true);
	}
	/* Otherwise a port that does nothing would pass, too. */
	for (int i = 0; i < 5; i++)
		assert_true(total[i] > 0);
	close(sent_fd);
	close(received_fd);
}

static void test_a_recording_without_a_place_is_refused(void **state)
{
	struct fixture *f = *state;
	expect(f, LOOP, "open", true);
	for (int i = 0; i < 2; i++) {
		char line[512];
		snprintf(
			line, sizeof line,
			"{\"cmd\":\"trial\",\"role\":\"loop\",\"streams\":[{\"tx\":\"a\",\"rx\":\"a\"}],"
			"\"duration_ns\":1000000,\"record_%s\":\"/nonexistent/file\"}",
			i ? "sent" : "received");
		say(f, line);
		json_t *o = hear(f);
		assert_true(json_is_false(json_object_get(o, "ok")));
		assert_string_equal(text(o, "errno"), "ENOENT");
		assert_non_null(strstr(text(o, "error"), "/nonexistent/file"));
		json_decref(o);
	}
	/* The port still works. */
	json_t *o = trial(
		f, "{\"cmd\":\"trial\",\"role\":\"loop\",\"streams\":[{\"tx\":\"a\",\"rx\":\"a\","
		   "\"rate_pps\":10000}],\"duration_ns\":10000000}");
	assert_null(json_object_get(o, "recordings"));
	json_decref(o);
}

static void test_abort_ends_a_trial_early(void **state)
{
	struct fixture *f = *state;
	expect(f, LOOP, "open", true);
	say(f,
	    "{\"cmd\":\"trial\",\"role\":\"loop\",\"streams\":[{\"tx\":\"a\",\"rx\":\"a\",\"rate_pps\":1000}],"
	    "\"duration_ns\":3600000000000}");
	json_t *o = hear(f);
	assert_string_equal(text(o, "event"), "started");
	json_decref(o);
	expect(f, "{\"cmd\":\"close\",\"port\":\"a\"}", "close", false);
	expect(f, "{\"cmd\":\"stats\"}", "stats", true);
	say(f, "{\"cmd\":\"abort\"}");
	bool aborted = false, done = false;
	while (!done) {
		o = hear(f);
		aborted = aborted || strcmp(text(o, "reply"), "abort") == 0;
		done = strcmp(text(o, "reply"), "trial") == 0;
		if (done)
			assert_true(json_is_true(json_object_get(o, "interrupted")));
		json_decref(o);
	}
	assert_true(aborted);
	expect(f, "{\"cmd\":\"abort\"}", "abort", false);
}

static void test_a_signal_ends_a_trial_with_its_result(void **state)
{
	struct fixture *f = *state;
	uint64_t one = 1;
	expect(f, LOOP, "open", true);
	say(f,
	    "{\"cmd\":\"trial\",\"role\":\"loop\",\"streams\":[{\"tx\":\"a\",\"rx\":\"a\",\"rate_pps\":1000}],"
	    "\"duration_ns\":3600000000000}");
	json_t *o = hear(f);
	assert_string_equal(text(o, "event"), "started");
	json_decref(o);
	assert_int_equal(write(f->signal_fd, &one, sizeof one), sizeof one);
	do {
		o = hear(f);
		bool is_trial = strcmp(text(o, "reply"), "trial") == 0;
		if (is_trial)
			assert_true(json_is_true(json_object_get(o, "interrupted")));
		json_decref(o);
		if (is_trial)
			break;
	} while (true);
	assert_int_equal(fgetc(f->answers), EOF);
}

static void test_a_pair_and_a_reflector_in_memory(void **state)
{
	struct fixture *f = *state;
	expect(f,
	       "{\"cmd\":\"open\",\"port\":\"a\",\"backend\":\"memory\",\"interface\":\"p\","
	       "\"wait\":\"spin\"}",
	       "open", true);
	expect(f,
	       "{\"cmd\":\"open\",\"port\":\"b\",\"backend\":\"memory\",\"interface\":\"p\","
	       "\"wait\":\"spin\"}",
	       "open", true);
	expect(f,
	       "{\"cmd\":\"open\",\"port\":\"c\",\"backend\":\"memory\",\"interface\":\"p\","
	       "\"wait\":\"spin\"}",
	       "open", false);
	json_t *o = trial(f, "{\"cmd\":\"trial\",\"role\":\"generate\",\"streams\":[{\"tx\":\"a\","
			     "\"rate_pps\":10000}],\"duration_ns\":20000000}");
	/* No port receives, and the ring holds more than 200. */
	assert_int_equal(counted(o, "intended_packets"), 200);
	assert_int_equal(number(json_object_get(o, "latency"), "count"), 0);
	json_decref(o);
	expect(f, "{\"cmd\":\"serve\",\"role\":\"reflect\",\"ports\":[\"b\"]}", "serve", true);
	expect(f, "{\"cmd\":\"serve\",\"role\":\"reflect\",\"ports\":[\"b\"]}", "serve", false);
	expect(f, "{\"cmd\":\"stats\"}", "stats", true);
	expect(f, "{\"cmd\":\"stop\"}", "stop", true);
	expect(f,
	       "{\"cmd\":\"trial\",\"role\":\"loop\",\"streams\":[{\"tx\":\"a\",\"rx\":\"z\"}],"
	       "\"duration_ns\":1}",
	       "trial", false);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	clock_init();
#define SESSION(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		SESSION(test_answers_come_in_order),
		SESSION(test_a_long_line_is_refused_and_skipped),
		SESSION(test_a_loop_counts_every_packet),
		SESSION(test_every_fault_is_accounted_for),
		SESSION(test_a_recording_without_a_place_is_refused),
		SESSION(test_abort_ends_a_trial_early),
		SESSION(test_a_signal_ends_a_trial_with_its_result),
		SESSION(test_a_pair_and_a_reflector_in_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
