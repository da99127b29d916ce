/* Counts packets by the way they came: same and other headers, flows, and more ways than there is room for. */
#include "packet/signatures.h"
#include "test.h"

#include <arpa/inet.h>
#include <stddef.h>

static const struct port_config config = {
	.local_mac = {2, 0, 0, 0, 0, 1},
	.peer_mac = {2, 0, 0, 0, 0, 2},
	.local_ip = 0x0100000a,
	.peer_ip = 0x0200000a,
	.udp_port = 7999,
	.frame_bytes = 64,
	.flows = 8,
};

/* Counts a frame of a flow, as a receiver does. */
static void arrive(struct ways *w, const struct port_config *c, uint32_t flow, uint8_t ttl)
{
	static uint8_t data[64];
	struct payload payload = {.id = flow};
	struct frame_template t;
	memset(data, 0, sizeof data);
	frame_template_init(&t, c);
	frame_write(&t, data, flow, &payload);
	data[offsetof(struct frame_header, ttl)] = ttl;
	ways_count(w, data);
}

static void test_a_way_has_the_headers(void **state)
{
	(void)state;
	struct ways w;
	ways_begin(&w, &config);
	arrive(&w, &config, 0, FRAME_TTL);
	arrive(&w, &config, 0, FRAME_TTL);
	ways_end(&w);
	assert_int_equal(w.table.count, 1);
	assert_int_equal(w.table.rows[0].packets, 2);
	struct signature s = w.table.rows[0].signature;
	assert_memory_equal(s.fields.source, config.local_mac, 6);
	assert_memory_equal(s.fields.destination, config.peer_mac, 6);
	assert_int_equal(s.fields.ttl, 64);
	assert_int_equal(s.fields.ip_source, config.local_ip);
	assert_int_equal(s.fields.ip_destination, config.peer_ip);
	assert_int_equal(ntohs(s.fields.udp_source), 7999);
	assert_int_equal(ntohs(s.fields.udp_destination), 7999);
	assert_int_equal(ntohs(s.fields.ip_length), 46);
}

static void test_flows_are_one_way(void **state)
{
	(void)state;
	static const enum port_flow_field fields[] = {PORT_FLOW_SOURCE_PORT,
						      PORT_FLOW_SOURCE_ADDRESS};
	for (size_t i = 0; i < 2; i++) {
		struct port_config c = config;
		struct ways w;
		c.flow_field = fields[i];
		c.sender_ip = c.local_ip;
		ways_begin(&w, &c);
		for (uint32_t flow = 0; flow < 16; flow++)
			arrive(&w, &c, flow / 2, FRAME_TTL);
		ways_end(&w);
		assert_int_equal(w.table.count, 1);
		assert_int_equal(w.table.rows[0].packets, 16);
		/* One that is none of the sender's flows came another way. */
		arrive(&w, &c, 8, FRAME_TTL);
		arrive(&w, &c, 7, FRAME_TTL);
		ways_end(&w);
		assert_int_equal(w.table.count, 2);
		assert_int_equal(w.table.rows[0].packets, 17);
	}
}

static void test_every_way_is_counted(void **state)
{
	(void)state;
	struct ways w;
	ways_begin(&w, &config);
	for (unsigned round = 0; round < 3; round++)
		for (unsigned ttl = 1; ttl <= SIGNATURES_MAX + 2; ttl++)
			for (unsigned twice = 0; twice < 2; twice++)
				arrive(&w, &config, 0, (uint8_t)ttl);
	ways_end(&w);
	assert_int_equal(w.table.count, SIGNATURES_MAX);
	for (unsigned i = 0; i < w.table.count; i++)
		assert_int_equal(w.table.rows[i].packets, 6);
	assert_int_equal(w.table.others, 12);
}

/* Every field of the headers that tells of the way, and none that does not. */
static void test_each_field_tells_of_the_way(void **state)
{
	(void)state;
	static const unsigned same[] = {12, 13, 14, 18, 19, 20, 21, 23, 24, 25, 38, 39, 40, 41};
	struct payload payload = {.tx_ticks = 1};
	struct frame_template t;
	uint8_t data[64] = {0};
	frame_template_init(&t, &config);
	frame_write(&t, data, 0, &payload);
	for (unsigned at = 0; at < FRAME_HEADERS; at++) {
		struct ways w;
		bool tells = true;
		ways_begin(&w, &config);
		for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
			tells = tells && same[i] != at;
		ways_count(&w, data);
		data[at] ^= 1;
		ways_count(&w, data);
		data[at] ^= 1;
		assert_int_equal(w.table.count, tells ? 2 : 1);
	}
}

/* Two CPUs that add a way at once leave two rows of it, and may leave one that has no packet yet. */
static void test_rows_of_one_way_are_merged(void **state)
{
	(void)state;
	struct ways few, many;
	struct signatures kernel = {.count = 3, .others = 5}, t = {0};
	ways_begin(&few, &config);
	ways_begin(&many, &config);
	arrive(&few, &config, 0, 63);
	arrive(&many, &config, 0, 64);
	for (unsigned i = 0; i < 3; i++)
		kernel.rows[i] =
			(struct signature_row){(i ? many : few).table.rows[0].signature, i};
	signatures_merge(&t, &kernel);
	assert_int_equal(t.count, 1);
	assert_int_equal(t.rows[0].packets, 3);
	assert_int_equal(t.rows[0].signature.fields.ttl, 64);
	assert_int_equal(t.others, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_way_has_the_headers),
		cmocka_unit_test(test_flows_are_one_way),
		cmocka_unit_test(test_every_way_is_counted),
		cmocka_unit_test(test_each_field_tells_of_the_way),
		cmocka_unit_test(test_rows_of_one_way_are_merged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
