/* Tests that several streams of a trial are sent in the order in which their packets are due, by their
 * own schedules, and counted apart, whatever ports they share. */
#include "role/trial.h"
#include "port/memory_test_port.h"
#include "test.h"

/*
 *   a ==== b   joined in memory, and so are c and d
 *   c ==== d
 */
static struct port *a, *b, *c, *d;

static struct port *open_port(const char *name, const char *interface)
{
	return open_memory_port(name, interface, PORT_BATCH, 128);
}

static int open_ports(void **state)
{
	(void)state;
	a = open_port("a", "one");
	b = open_port("b", "one");
	c = open_port("c", "two");
	d = open_port("d", "two");
	return 0;
}

static int close_ports(void **state)
{
	(void)state;
	a->ops->close(a);
	b->ops->close(b);
	c->ops->close(c);
	d->ops->close(d);
	return 0;
}

static struct stream_config stream(struct port *tx, struct port *rx, uint64_t pps, uint32_t burst)
{
	return (struct stream_config){
		.tx = tx,
		.rx = rx,
		.schedule = {.rate_upps = UINT64_C(1000000) * pps, .burst = burst, .seed = pps},
	};
}

static struct trial *run(const struct stream_config *streams, unsigned count, uint64_t duration_ns)
{
	struct trial_config config = {
		.role = "loop",
		.streams = streams,
		.stream_count = count,
		.cpu = -1,
		.warmup_ns = 5000000,
		.duration_ns = duration_ns,
		.drain_ns = 1000000000,
		.outliers = 50,
	};
	struct trial *t;
	char error[256] = "";
	assert_int_equal(trial_new(&config, &t, error, sizeof error), 0);
	if (trial_start(t, error, sizeof error) != 0)
		fail_msg("%s", error);
	trial_join(t);
	return t;
}

/* Checks that each packet that a stream sent arrived as that stream's, and the sums. */
static void check_counts(const struct trial *t)
{
	uint64_t sent = 0;
	for (unsigned i = 0; i < t->stream_count; i++) {
		const struct stream *m = &t->streams[i];
		assert_int_equal(m->seen.unique, m->sent);
		assert_int_equal(m->seen.duplicate + m->seen.reordered + m->seen.late + m->failed,
				 0);
		assert_true(m->sent <= m->intended);
		if (m->latency)
			assert_int_equal(m->latency->count, m->sent);
		sent += m->sent;
	}
	assert_int_equal(t->receiver.unique, sent);
	assert_int_equal(t->receiver.invalid, 0);
	assert_int_equal(t->receiver.latency.count, sent);
	assert_int_equal(t->receiver.from_tx.count, sent);
	assert_int_equal(t->sender.send_lag.count, sent);
	for (uint32_t i = 0; i < t->receiver.worst.size; i++)
		assert_in_range(t->receiver.worst.heap[i].stream, 0, t->stream_count - 1);
}

/* Runs until the host has left the CPU long enough for all packets. */
static struct trial *run_whole(const struct stream_config *streams, unsigned count,
			       uint64_t duration_ns)
{
	for (int tries = 1;; tries++) {
		struct trial *t = run(streams, count, duration_ns);
		bool whole = true;
		check_counts(t);
		for (unsigned i = 0; i < t->stream_count; i++)
			whole &= t->streams[i].sent == t->streams[i].intended;
		if (whole)
			return t;
		trial_free(t);
		assert_true(tries < 200);
	}
}

/* Whether packets of each stream came in the warm-up, too: a host that takes the CPU away then leaves none of a slow one. */
static bool warmed(const struct trial *t)
{
	bool all = true;
	for (unsigned i = 0; i < t->stream_count; i++)
		all &= t->streams[i].warmup > 0;
	return all;
}

static void test_streams_have_their_own_rates_and_ports(void **state)
{
	(void)state;
	const struct stream_config streams[] = {
		stream(a, b, 20000, 1), stream(b, a, 300, 4),  stream(c, d, 7000, 1),
		stream(a, b, 1000, 32), stream(d, c, 5000, 1),
	};
	struct trial *t = run_whole(streams, 5, 100000000);
	for (int tries = 0; !warmed(t); tries++) {
		trial_free(t);
		assert_true(tries < 20);
		t = run_whole(streams, 5, 100000000);
	}
	static const uint64_t want[] = {2000, 32, 700, 128, 500};
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(t->streams[i].sent, want[i]);
		/* The end of the schedule, and none of another's time between its packets. */
		assert_int_equal(t->streams[i].due_ticks, UINT64_MAX);
	}
	assert_int_equal(t->outlet_count, 4);
	assert_int_equal(t->inlet_count, 4);
	assert_int_equal(t->sender.spacing.count, 2000 + 32 + 700 + 128 + 500 - 5);
	trial_free(t);
}

static void test_a_single_stream_has_no_second_histogram(void **state)
{
	(void)state;
	const struct stream_config one = stream(a, b, 20000, 1);
	struct trial *t = run_whole(&one, 1, 20000000);
	assert_null(t->streams[0].latency);
	trial_free(t);
}

static void test_many_streams_share_two_ports(void **state)
{
	(void)state;
	struct stream_config streams[TRIAL_STREAMS_MAX];
	for (unsigned i = 0; i < TRIAL_STREAMS_MAX; i++) {
		streams[i] = stream(i % 2 ? c : a, i % 2 ? d : b, 100 + i, 1);
		if (i % 3 == 0)
			streams[i].schedule.pattern = SCHEDULE_POISSON;
	}
	struct trial *t = run_whole(streams, TRIAL_STREAMS_MAX, 100000000);
	assert_int_equal(t->outlet_count, 2);
	for (unsigned i = 0; i < TRIAL_STREAMS_MAX; i++)
		if (i % 3)
			assert_int_equal(t->streams[i].sent, (100 + i + 9) / 10);
	trial_free(t);
}

/* Those without a rate take turns, and leave room for those with one. */
static void test_no_stream_starves_another(void **state)
{
	(void)state;
	const struct stream_config streams[] = {stream(a, b, 0, 1), stream(a, b, 0, 1),
						stream(c, d, 0, 1), stream(a, b, 10000, 1)};
	for (int tries = 1;; tries++) {
		struct trial *t = run(streams, 4, 50000000);
		check_counts(t);
		const struct stream *m = t->streams;
		uint64_t most = m[0].sent, least = m[0].sent;
		for (unsigned i = 1; i < 3; i++) {
			most = m[i].sent > most ? m[i].sent : most;
			least = m[i].sent < least ? m[i].sent : least;
		}
		bool whole = m[3].sent == m[3].intended && least > 10 * PORT_BURST;
		if (whole)
			assert_in_range(most - least, 0, 4 * PORT_BURST);
		trial_free(t);
		if (whole)
			return;
		assert_true(tries < 200);
	}
}

/* A memory port that takes nothing for a while. */
struct full {
	struct port port;
	struct port *under;
	struct port_ops ops;
	bool room;
};

static unsigned full_tx_acquire(struct port *port, struct packet *burst, unsigned count)
{
	struct full *f = (struct full *)port;
	return f->under->ops->tx_acquire(f->under, burst, count);
}

static int full_tx_commit(struct port *port, struct packet *burst, unsigned count)
{
	struct full *f = (struct full *)port;
	return f->room ? f->under->ops->tx_commit(f->under, burst, count) : 0;
}

static void full_tx_release(struct port *port, struct packet *burst, unsigned count)
{
	struct full *f = (struct full *)port;
	f->under->ops->tx_release(f->under, burst, count);
}

static int full_start(struct port *port, unsigned directions)
{
	struct full *f = (struct full *)port;
	return f->under->ops->start(f->under, directions);
}

static void test_a_full_port_holds_up_its_own_streams_only(void **state)
{
	(void)state;
	struct full f = {.port = *a, .under = a, .ops = *a->ops};
	f.ops.tx_acquire = full_tx_acquire;
	f.ops.tx_commit = full_tx_commit;
	f.ops.tx_release = full_tx_release;
	f.ops.start = full_start;
	f.port.ops = &f.ops;
	const struct stream_config streams[] = {stream(&f.port, b, 10000, 1),
						stream(c, d, 10000, 1), stream(&f.port, b, 5000, 1),
						stream(d, c, 2000, 1)};
	for (int tries = 1;; tries++) {
		struct trial *t = run(streams, 4, 50000000);
		check_counts(t);
		assert_int_equal(t->streams[0].sent + t->streams[2].sent, 0);
		bool whole = t->streams[1].sent == 500 && t->streams[3].sent == 100;
		/* All packets were offered, in the second in which they were due. */
		if (whole)
			assert_int_equal(t->rates[0], 500 + 500 + 250 + 100);
		trial_free(t);
		if (whole)
			return;
		assert_true(tries < 200);
	}
}

/* A packet of a stream that arrives where only another stream's do is none of either. */
static void test_a_packet_at_the_wrong_port_counts_as_invalid(void **state)
{
	(void)state;
	const struct stream_config streams[] = {stream(a, d, 10000, 1), stream(c, b, 10000, 1)};
	struct stream_config crossed[] = {streams[0], streams[1]};
	struct trial_config config = {
		.role = "loop",
		.streams = crossed,
		.stream_count = 2,
		.cpu = -1,
		.duration_ns = 10000000,
		.drain_ns = 1000000,
	};
	for (int tries = 1;; tries++) {
		struct trial *t;
		char error[256] = "";
		assert_int_equal(trial_new(&config, &t, error, sizeof error), 0);
		assert_int_equal(trial_start(t, error, sizeof error), 0);
		trial_join(t);
		uint64_t sent = t->streams[0].sent + t->streams[1].sent;
		assert_int_equal(t->receiver.unique, 0);
		assert_int_equal(t->receiver.invalid, sent);
		trial_free(t);
		if (sent > 0)
			return;
		assert_true(tries < 200);
	}
}

int main(void)
{
	clock_init();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams_have_their_own_rates_and_ports),
		cmocka_unit_test(test_a_single_stream_has_no_second_histogram),
		cmocka_unit_test(test_many_streams_share_two_ports),
		cmocka_unit_test(test_no_stream_starves_another),
		cmocka_unit_test(test_a_full_port_holds_up_its_own_streams_only),
		cmocka_unit_test(test_a_packet_at_the_wrong_port_counts_as_invalid),
	};
	return cmocka_run_group_tests(tests, open_ports, close_ports);
}
