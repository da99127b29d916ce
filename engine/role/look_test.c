/* Tests that a receiver's poll gap bounds how much earlier a packet may have come: also where the CPU was
 * taken away within a look that had already found nothing. */
#include "role/trial.h"
#include "port/memory_test_port.h"
#include "test.h"

enum { PACKETS = 200, PPS = 20000, STALL_NS = 300000, EVERY = 20 };

/* A memory port that at times loses the CPU within a look, after it has found nothing: what comes
 * meanwhile is for the next look. */
struct stalling {
	struct port port;
	struct port *under;
	struct packet late[PORT_BURST];
	unsigned late_count, seen, stalls;
};

static struct stalling *stalling_of(struct port *port)
{
	return (struct stalling *)port;
}

static unsigned stalling_rx_burst(struct port *port, struct packet *burst, unsigned max)
{
	struct stalling *s = stalling_of(port);
	if (s->late_count > 0) {
		unsigned n = s->late_count;
		memcpy(burst, s->late, n * sizeof *burst);
		s->late_count = 0;
		return n;
	}
	unsigned n = s->under->ops->rx_burst(s->under, burst, max);
	s->seen += n;
	if (n == 0 || s->seen % EVERY != 0)
		return n;
	memcpy(s->late, burst, n * sizeof *burst);
	s->late_count = n;
	s->stalls++;
	for (uint64_t begin = clock_monotonic_ns(); clock_monotonic_ns() - begin < STALL_NS;)
		;
	return 0;
}

static void stalling_rx_release(struct port *port, struct packet *burst, unsigned count)
{
	stalling_of(port)->under->ops->rx_release(stalling_of(port)->under, burst, count);
}

static int stalling_start(struct port *port, unsigned directions)
{
	struct stalling *s = stalling_of(port);
	s->late_count = s->seen = s->stalls = 0;
	return s->under->ops->start(s->under, directions);
}

static struct port *open_port(const char *name, enum port_wait wait)
{
	struct port *port = open_memory_port(name, "pair", PORT_SINGLE, 64);
	/* It has nothing to sleep on but the time of the next packet. */
	port->config.wait = wait;
	return port;
}

/* Runs a trial from one port to the other, and checks that the gaps of its packets tell of each stall. Where
 * the host takes the CPU away for as long as a trial lasts, it sends too few for one: then another may. */
static void sees_stalls(enum port_wait wait)
{
	struct port *tx = open_port("a", wait), *rx = open_port("b", wait);
	struct port_ops ops = *rx->ops;
	struct stalling s = {.port = *rx, .under = rx};
	ops.rx_burst = stalling_rx_burst;
	ops.rx_release = stalling_rx_release;
	ops.start = stalling_start;
	s.port.ops = &ops;
	struct stream_config stream = {
		.tx = tx,
		.rx = &s.port,
		.schedule = {.rate_upps = UINT64_C(1000000) * PPS, .burst = 1},
	};
	struct trial_config config = {
		.role = "loop",
		.streams = &stream,
		.stream_count = 1,
		.cpu = -1,
		.duration_ns = UINT64_C(1000000000) * PACKETS / PPS,
		.drain_ns = 100000000,
		.outliers = PACKETS,
	};
	for (int tries = 1; s.stalls == 0; tries++) {
		assert_true(tries < 200);
		struct trial *t;
		char error[256] = "";
		assert_int_equal(trial_new(&config, &t, error, sizeof error), 0);
		if (trial_start(t, error, sizeof error) != 0)
			fail_msg("%s", error);
		trial_join(t);
		unsigned told = 0;
		for (uint32_t i = 0; i < t->receiver.worst.size; i++)
			told += t->receiver.worst.heap[i].poll_gap_ns >= STALL_NS;
		assert_in_range(told, s.stalls, PACKETS);
		trial_free(t);
	}
	rx->ops->close(rx);
	tx->ops->close(tx);
}

static void test_a_spinning_receiver_sees_stalls_within_empty_looks(void **state)
{
	(void)state;
	sees_stalls(PORT_SPIN);
}

static void test_a_sleeping_receiver_sees_them(void **state)
{
	(void)state;
	sees_stalls(PORT_BLOCK);
}

int main(void)
{
	clock_init();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_spinning_receiver_sees_stalls_within_empty_looks),
		cmocka_unit_test(test_a_sleeping_receiver_sees_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
