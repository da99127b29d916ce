/* Tests when a measuring thread that blocks sleeps before it sends: until each packet is due, but in
 * a round trip not for the last moments before it, unless an answer is out. And how it takes stamps of
 * another machine's counter. */
#include "role/trial.h"
#include "port/memory_test_port.h"
#include "test.h"

/* A packet is due each 40 us, so a thread that is awake 50 us before each never sleeps between. */
enum { PACKETS = 400, PPS = 25000, FEW = 9 };

static struct port *open_port(const char *name, const char *interface)
{
	struct port *port = open_memory_port(name, interface, PORT_SINGLE, 64);
	/* It has nothing to sleep on but the time, which is what is tested. */
	port->config.wait = PORT_BLOCK;
	return port;
}

/* A trial that sent packets. Where the host takes the CPU away for as long as a trial lasts, it sends none, and
 * another one may. */
static struct trial *run(const struct trial_config *config)
{
	for (int tries = 1;; tries++) {
		struct trial *t;
		char error[256] = "";
		assert_int_equal(trial_new(config, &t, error, sizeof error), 0);
		if (trial_start(t, error, sizeof error) != 0)
			fail_msg("%s", error);
		trial_join(t);
		if (t->sender.send_lag.count > 0)
			return t;
		trial_free(t);
		assert_true(tries < 200);
	}
}

/* How often a timer woke the thread of a trial over these ports. All packets come, or none. */
static uint64_t wakes(struct port *tx, struct port *rx, bool come)
{
	struct stream_config stream = {
		.tx = tx,
		.rx = rx,
		.schedule = {.rate_upps = UINT64_C(1000000) * PPS, .burst = 1},
	};
	struct trial_config config = {
		.role = "loop",
		.streams = &stream,
		.stream_count = 1,
		.cpu = -1,
		.duration_ns = UINT64_C(1000000000) * PACKETS / PPS,
		.drain_ns = 1000000,
	};
	struct trial *t = run(&config);
	assert_int_equal(t->receiver.unique, come ? t->sender.send_lag.count : 0);
	uint64_t count = t->gaps.wakes.count;
	trial_free(t);
	return count;
}

/* Whether the thread sleeps between packets. Where the host takes its CPU away, packets are late and
 * nothing is left to sleep: then another trial may tell. */
static bool sleeps(struct port *tx, struct port *rx, bool come)
{
	for (int i = 0; i < 50; i++)
		if (wakes(tx, rx, come) > FEW)
			return true;
	return false;
}

/* It sleeps until the first packet, and after the last. */
static void test_a_round_trip_is_awake_before_it_sends(void **state)
{
	(void)state;
	struct port *port = open_port("a", "loop");
	assert_in_range(wakes(port, port, true), 0, FEW);
	port->ops->close(port);
}

static void test_it_sleeps_while_an_answer_is_out(void **state)
{
	(void)state;
	struct port *port = open_port("a", "silent"), *other = open_port("b", "silent");
	assert_true(sleeps(port, port, false));
	other->ops->close(other);
	port->ops->close(port);
}

static void test_one_way_sleeps_until_each_packet(void **state)
{
	(void)state;
	struct port *tx = open_port("a", "pair"), *rx = open_port("b", "pair");
	assert_true(sleeps(tx, rx, true));
	rx->ops->close(rx);
	tx->ops->close(tx);
}

/* A sender whose clock, converted, is 5 ms behind: its packets seem to be on their way for 5 ms more. */
static void test_stamps_of_another_machine_are_converted(void **state)
{
	(void)state;
	enum { BEHIND_NS = 5000000, SLACK_NS = 100000 };
	struct port *port = open_port("a", "loop");
	struct stream_config stream = {
		.tx = port,
		.rx = port,
		.schedule = {.rate_upps = UINT64_C(1000000) * PPS, .burst = 1},
	};
	struct trial_config config = {
		.role = "loop",
		.streams = &stream,
		.stream_count = 1,
		.cpu = -1,
		.duration_ns = UINT64_C(1000000000) * PACKETS / PPS,
		.drain_ns = 1000000,
		.sender_scale = clock_calibrate(CLOCK_CALIBRATION_NS),
		.foreign = true,
	};
	config.sender_scale.base.ns -= BEHIND_NS;
	struct trial *t = run(&config);
	assert_true(t->receiver.from_tx.count > 0);
	assert_int_equal(t->receiver.from_tx.count, t->receiver.unique);
	assert_true(t->receiver.from_tx.min >= BEHIND_NS - SLACK_NS);
	assert_int_equal(t->streams[0].early, 0);
	trial_free(t);
	port->ops->close(port);
}

int main(void)
{
	clock_init();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_round_trip_is_awake_before_it_sends),
		cmocka_unit_test(test_it_sleeps_while_an_answer_is_out),
		cmocka_unit_test(test_one_way_sleeps_until_each_packet),
		cmocka_unit_test(test_stamps_of_another_machine_are_converted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
