/* Tests that the bulk data of a trial has its figures, in the layout of the protocol. */
#include "control/bulk.h"
#include "port/memory_test_port.h"
#include "test.h"

#include <stdlib.h>

static struct port *open_loop(void)
{
	return open_memory_port("a", "loop", PORT_BATCH, 64);
}

/* A trial of two streams that sent enough for its outliers. */
static struct trial *run(struct port *port)
{
	const struct stream_config streams[] = {
		{.name = "x", .tx = port, .rx = port, .schedule = {UINT64_C(20000000000), 0, 1, 1}},
		{.name = "y", .tx = port, .rx = port, .schedule = {UINT64_C(5000000000), 0, 4, 2}},
	};
	const struct trial_config config = {
		.role = "loop",
		.streams = streams,
		.stream_count = 2,
		.cpu = -1,
		.duration_ns = 50000000,
		.drain_ns = 1000000000,
		.outliers = 20,
		.ordinary = 5,
	};
	for (int tries = 1;; tries++) {
		struct trial *t;
		char error[256] = "";
		assert_true(tries < 200);
		assert_int_equal(trial_new(&config, &t, error, sizeof error), 0);
		assert_int_equal(trial_start(t, error, sizeof error), 0);
		trial_join(t);
		if (t->streams[0].sent > 100 && t->streams[1].sent > 20)
			return t;
		trial_free(t);
	}
}

static int64_t number_at(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;
	for (unsigned shift = 0;; shift += 7) {
		assert_true(*at < end && shift < 64);
		uint8_t byte = *(*at)++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
	}
}

/* Checks the counts of a section against those of the histogram that it was made of. */
static void check_counts(const uint8_t *at, uint64_t bytes, const struct histogram *h)
{
	const uint8_t *end = at + bytes;
	uint64_t sum = 0;
	for (uint32_t i = 0; at < end; i++) {
		int64_t n = number_at(&at, end);
		assert_int_not_equal(n, 0);
		if (n < 0) {
			i += (uint32_t)-n - 1;
			continue;
		}
		assert_true(i < HISTOGRAM_COUNTS);
		assert_int_equal(n, h->counts[i]);
		sum += (uint64_t)n;
	}
	assert_int_equal(sum, h->count);
}

static void check_packets(const struct bulk_section *s, const uint8_t *at, const struct trial *t,
			  const struct outlier *of, uint32_t count)
{
	assert_int_equal(s->bytes, count * sizeof(struct bulk_packet));
	for (uint32_t i = 0; i < count; i++) {
		struct bulk_packet p;
		memcpy(&p, at + i * sizeof p, sizeof p);
		assert_int_equal(p.id, of[i].id);
		assert_int_equal(p.stream, of[i].stream);
		assert_int_equal(p.latency_ns, of[i].latency_ns);
		assert_int_equal(p.from_tx_ns + p.send_lag_ns, p.latency_ns);
		assert_in_range(p.tx_ns - p.intended_ns + 1000, p.send_lag_ns,
				p.send_lag_ns + 2000);
		assert_true(p.rx_ns >= p.tx_ns);
		assert_int_equal(p.tx_cpu, t->cpu_ran);
	}
}

static void check_list(const uint8_t *at, uint64_t bytes, const struct trial *t)
{
	const struct interruptions *l = t->interruptions;
	const uint8_t *end = at + bytes;
	int64_t begin = 0, margin = 1000;
	for (uint32_t i = 0; i < l->count; i++) {
		int64_t from = (int64_t)(l->list[i].at_ticks - t->measured_ticks);
		int64_t want = (int64_t)((double)from * 1e9 / t->scale_end.hz);
		begin += number_at(&at, end);
		assert_true(begin - want < margin && want - begin < margin);
		assert_int_equal(number_at(&at, end),
				 clock_ticks_to_ns(&t->scale_end, l->list[i].length_ticks));
		assert_int_equal(number_at(&at, end), l->list[i].kind);
	}
	assert_ptr_equal(at, end);
}

static void test_a_trial_is_packed_whole(void **state)
{
	(void)state;
	struct port *port = open_loop();
	struct trial *t = run(port);
	size_t size = 0, at = sizeof(struct bulk_header);
	uint8_t *data = bulk_of(t, &size);
	struct bulk_header header;
	memcpy(&header, data, sizeof header);
	assert_memory_equal(header.magic, "NINESBLK", 8);
	assert_int_equal(header.version, 1);
	assert_int_equal(header.sections, 4 + 2 + t->receiver.blocks.count + 2 + 1);
	unsigned blocks = 0;
	for (uint32_t i = 0; i < header.sections; i++) {
		struct bulk_section s;
		assert_true(at + sizeof s <= size);
		memcpy(&s, data + at, sizeof s);
		at += sizeof s;
		assert_true(s.bytes <= size - at);
		const uint8_t *content = data + at;
		const struct receiver *r = &t->receiver;
		switch (s.kind) {
		case BULK_LATENCY:
			check_counts(content, s.bytes,
				     s.stream == BULK_ALL_STREAMS ? &r->latency
								  : t->streams[s.stream].latency);
			break;
		case BULK_FROM_TX:
			check_counts(content, s.bytes, &r->from_tx);
			break;
		case BULK_SEND_LAG:
			check_counts(content, s.bytes, &t->sender.send_lag);
			break;
		case BULK_SPACING:
			check_counts(content, s.bytes, &t->sender.spacing);
			break;
		case BULK_LATENCY_BLOCK:
			check_counts(content, s.bytes, &r->blocks.list[blocks++]);
			break;
		case BULK_OUTLIERS:
			check_packets(&s, content, t, r->worst.heap, 20);
			break;
		case BULK_ORDINARY:
			check_packets(&s, content, t, r->sample.kept, 5);
			break;
		case BULK_INTERRUPTIONS:
			check_list(content, s.bytes, t);
			break;
		default:
			fail_msg("a section of kind %u", s.kind);
		}
		at += s.bytes;
	}
	assert_int_equal(at, size);
	assert_int_equal(blocks, bulk_blocks(t));
	/* The slowest comes first. */
	assert_int_equal(t->receiver.worst.heap[0].latency_ns, t->receiver.latency.max);
	free(data);
	trial_free(t);
	port->ops->close(port);
}

static void test_counts_are_the_standards(void **state)
{
	(void)state;
	/* By hand: 1 twice, 64 zeros, 300 once, and the last count, which is large. */
	static const uint8_t want[] = {0x01, 0x04, 0x7f, 0x02, 0x03, 0x80, 0x80, 0x80, 0x80, 0x20};
	static struct histogram h;
	struct bulk b = {0};
	histogram_clear(&h);
	histogram_record_many(&h, 1, 2);
	histogram_record(&h, 66);
	histogram_record_many(&h, 69, UINT64_C(1) << 32);
	bulk_counts(&b, &h);
	assert_int_equal(b.size, sizeof want);
	assert_memory_equal(b.data, want, sizeof want);
	b.size = 0;
	histogram_clear(&h);
	bulk_counts(&b, &h);
	assert_int_equal(b.size, 0);
	free(b.data);
}

static void test_base64_of_rfc4648(void **state)
{
	(void)state;
	static const char *const texts[] = {"",		"Zg==",	    "Zm8=",    "Zm9v",
					    "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
	for (size_t i = 0; i < 7; i++) {
		size_t length;
		char *text = bulk_base64((const uint8_t *)"foobar", i, &length);
		assert_string_equal(text, texts[i]);
		assert_int_equal(length, strlen(texts[i]));
		free(text);
	}
}

int main(void)
{
	clock_init();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_trial_is_packed_whole),
		cmocka_unit_test(test_counts_are_the_standards),
		cmocka_unit_test(test_base64_of_rfc4648),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
