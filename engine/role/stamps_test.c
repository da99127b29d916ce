/* Tests which stamp a receiver takes: the second one where a device has put bytes before the first, and
 * that of another machine's counter, of which a packet has only the low 48 bits, also while they wrap. */
#include "role/trial.h"
#include "port/memory_test_port.h"
#include "test.h"

#include <arpa/inet.h>

enum { PACKETS = 400, PPS = 20000, BEHIND_NS = 5000000 };
#define WRAP (UINT64_C(1) << PAYLOAD_TICKS_BITS)

/* A memory port whose packets come from another machine, or through a device that changes them. */
struct other_machine {
	struct port port;
	struct port *under;
	struct port_ops ops;
	void (*change)(struct other_machine *o, struct packet *p);
	struct frame_template template;
	uint64_t ahead_ticks; /* its counter is ahead by so many */
	uint64_t least, most; /* of the bits in the stamps */
};

static struct other_machine *other_of(struct port *port)
{
	return (struct other_machine *)port;
}

static void stamp_by_another_counter(struct other_machine *o, struct packet *packet)
{
	struct payload p;
	assert_true(payload_read(packet->data + FRAME_HEADERS, PAYLOAD_BYTES, &p));
	p.tx_ticks = (p.tx_ticks + o->ahead_ticks) % WRAP;
	o->least = p.tx_ticks < o->least ? p.tx_ticks : o->least;
	o->most = p.tx_ticks > o->most ? p.tx_ticks : o->most;
	frame_write(&o->template, packet->data, 0, &p);
}

/* A proxy's own header at the beginning of the UDP payload. */
static void put_header(struct other_machine *o, struct packet *packet)
{
	enum { HEADER = 11 };
	struct frame_header h;
	uint8_t *payload = packet->data + FRAME_HEADERS;
	(void)o;
	memmove(payload + HEADER, payload, packet->length - FRAME_HEADERS);
	memset(payload, 0x33, HEADER);
	memcpy(&h, packet->data, sizeof h);
	packet->length += HEADER;
	uint16_t udp_length = (uint16_t)(packet->length - FRAME_ETHERNET - FRAME_IP);
	h.udp.length = htons(udp_length);
	h.ip_length = htons(udp_length + FRAME_IP);
	h.ip_checksum = 0;
	h.ip_checksum = (uint16_t)~checksum_fold(checksum_add(0, &h.version_ihl, FRAME_IP));
	h.udp.checksum = frame_partial_checksum(&h);
	memcpy(packet->data, &h, sizeof h);
	frame_complete_checksum(packet->data, packet->length);
}

static unsigned other_rx_burst(struct port *port, struct packet *burst, unsigned max)
{
	struct other_machine *o = other_of(port);
	unsigned n = o->under->ops->rx_burst(o->under, burst, max);
	for (unsigned i = 0; i < n; i++)
		o->change(o, &burst[i]);
	return n;
}

static void other_rx_release(struct port *port, struct packet *burst, unsigned count)
{
	other_of(port)->under->ops->rx_release(other_of(port)->under, burst, count);
}

static int other_start(struct port *port, unsigned directions)
{
	return other_of(port)->under->ops->start(other_of(port)->under, directions);
}

static void wrap_port(struct other_machine *o, struct port *under,
		      void (*change)(struct other_machine *o, struct packet *p))
{
	memset(o, 0, sizeof *o);
	o->port = *under;
	o->under = under;
	o->change = change;
	o->ops = *under->ops;
	o->ops.rx_burst = other_rx_burst;
	o->ops.rx_release = other_rx_release;
	o->ops.start = other_start;
	o->port.ops = &o->ops;
}

static struct port *open_port(const char *name)
{
	return open_memory_port(name, "pair", PORT_SINGLE,
				128); /* with room for more in its slot */
}

static struct stream_config stream_between(struct port *tx, struct port *rx)
{
	return (struct stream_config){
		.tx = tx,
		.rx = rx,
		.schedule = {.rate_upps = UINT64_C(1000000) * PPS, .burst = 1},
	};
}

static struct trial_config config_of(const struct stream_config *stream)
{
	return (struct trial_config){
		.role = "loop",
		.streams = stream,
		.stream_count = 1,
		.cpu = -1,
		.duration_ns = UINT64_C(1000000000) * PACKETS / PPS,
		.drain_ns = 100000000,
	};
}

/* A trial of which each packet that was sent arrived, at its time. */
static struct trial *run(const struct trial_config *config)
{
	struct trial *t;
	char error[256] = "";
	assert_int_equal(trial_new(config, &t, error, sizeof error), 0);
	if (trial_start(t, error, sizeof error) == 0)
		trial_join(t);
	assert_int_equal(t->receiver.invalid, 0);
	assert_int_equal(t->streams[0].early, 0);
	assert_int_equal(t->receiver.unique, t->sender.send_lag.count);
	return t;
}

/* A trial whose sender's counter wraps in its middle; false if the host delayed it past that. */
static bool wraps(struct port *tx, struct other_machine *o)
{
	o->least = UINT64_MAX;
	o->most = 0;
	struct stream_config stream = stream_between(tx, &o->port);
	struct trial_config config = config_of(&stream);
	config.sender_scale = clock_calibrate(CLOCK_CALIBRATION_NS);
	config.foreign = true;
	config.start_ns = clock_monotonic_ns() + 20000000;
	uint64_t middle =
		clock_at_ticks(&config.sender_scale, config.start_ns + config.duration_ns / 2);
	o->ahead_ticks = 7 * WRAP - middle;
	config.sender_scale.base.ticks += o->ahead_ticks;
	/* As in the command, which has no inverse of the rate. */
	config.sender_scale.ticks_per_ns = 0;
	/* The sender's clock, converted, is behind: its packets seem to be on their way for longer. */
	config.sender_scale.base.ns -= BEHIND_NS;
	struct trial *t = run(&config);
	const struct receiver *r = &t->receiver;
	bool wrapped = r->unique > 0 && o->least < WRAP / 4 && o->most > WRAP / 4 * 3;
	if (wrapped)
		assert_in_range(r->from_tx.min, BEHIND_NS - 100000, BEHIND_NS + 100000000);
	trial_free(t);
	return wrapped;
}

static void test_the_senders_counter_may_wrap(void **state)
{
	(void)state;
	struct port *tx = open_port("a"), *rx = open_port("b");
	struct other_machine o;
	wrap_port(&o, rx, stamp_by_another_counter);
	frame_template_init(&o.template, &tx->config);
	int tries = 1;
	while (!wraps(tx, &o))
		assert_true(tries++ < 100);
	rx->ops->close(rx);
	tx->ops->close(tx);
}

static void test_a_header_may_come_before_the_stamp(void **state)
{
	(void)state;
	struct port *tx = open_port("a"), *rx = open_port("b");
	struct other_machine o;
	wrap_port(&o, rx, put_header);
	struct stream_config stream = stream_between(tx, &o.port);
	struct trial_config config = config_of(&stream);
	uint64_t seen = 0;
	for (int tries = 1; seen == 0; tries++) {
		assert_true(tries < 100);
		struct trial *t = run(&config);
		seen = t->receiver.unique;
		trial_free(t);
	}
	rx->ops->close(rx);
	tx->ops->close(tx);
}

int main(void)
{
	clock_init();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_senders_counter_may_wrap),
		cmocka_unit_test(test_a_header_may_come_before_the_stamp),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
