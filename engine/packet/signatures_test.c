/* Counts packets by the way they came: same and other headers, flows, and more ways than there is room for. */
#include "packet/signatures.h"
#include "test.h"

#include <arpa/inet.h>
#include <stddef.h>

static const struct port_config config = {
	.local_mac = {2, 0, 0, 0, 0, 1},
	.peer_mac = {2, 0, 0, 0, 0, 2},
	.local_ip.s6_addr32 = {0, 0, 0xffff0000, 0x0100000a},
	.peer_ip.s6_addr32 = {0, 0, 0xffff0000, 0x0200000a},
	.udp_port = 7999,
	.frame_bytes = 64,
	.flows = 8,
};

/* Counts a frame of a flow, as a receiver does. */
static void arrive(struct ways *w, const struct port_config *c, uint32_t flow, uint8_t ttl)
{
	static uint8_t data[128];
	struct payload payload = {.id = flow};
	struct frame_template t;
	memset(data, 0, sizeof data);
	frame_template_init(&t, c);
	frame_write(&t, data, flow, &payload);
	data[t.ip6 ? offsetof(struct frame_header6, hop_limit)
		   : offsetof(struct frame_header, ttl)] = ttl;
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
	assert_memory_equal(s.fields.ip_source, &config.local_ip, 16);
	assert_memory_equal(s.fields.ip_destination, &config.peer_ip, 16);
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

/* Flips a bit of each byte of the headers: `same` says which tell nothing of the way. */
static void flip_headers(const struct port_config *c, const bool *same)
{
	struct payload payload = {.tx_ticks = 1};
	struct frame_template t;
	uint8_t data[128] = {0};
	frame_template_init(&t, c);
	frame_write(&t, data, 0, &payload);
	for (unsigned at = 0; at < t.headers; at++) {
		struct ways w;
		ways_begin(&w, c);
		ways_count(&w, data);
		ways_count(&w, data);
		data[at] ^= 1;
		ways_count(&w, data);
		data[at] ^= 1;
		ways_end(&w);
		assert_int_equal(w.table.count, same[at] ? 1 : 2);
	}
}

/* Every field of the headers that tells of the way, and none that does not. */
static void test_each_field_tells_of_the_way(void **state)
{
	(void)state;
	/* 12 and 13 are the type: other bytes there are another protocol's, which no port takes. */
	static const bool same[FRAME_HEADERS] = {
		[12 ... 14] = true, [18 ... 21] = true, [23 ... 25] = true, [38 ... 41] = true};
	flip_headers(&config, same);
}

static struct port_config ip6_config(void)
{
	struct port_config c = config;
	inet_pton(AF_INET6, "2001:2::1", &c.local_ip);
	inet_pton(AF_INET6, "2001:2::2", &c.peer_ip);
	c.frame_bytes = 84;
	return c;
}

static void test_each_field_of_ip6_tells_of_the_way(void **state)
{
	(void)state;
	/* The lowest bit of 15 is the flow label's. */
	static const bool same[FRAME_HEADERS6] = {
		[15 ... 17] = true, [20] = true, [58 ... 61] = true};
	struct port_config c = ip6_config();
	flip_headers(&c, same);
}

/* A tunnel's end may get packets of both versions. */
static void test_both_ip_versions_are_two_ways(void **state)
{
	(void)state;
	struct port_config c = ip6_config();
	struct ways w;
	ways_begin(&w, &config);
	for (int i = 0; i < 3; i++) {
		arrive(&w, &config, 0, FRAME_TTL);
		arrive(&w, &c, 0, FRAME_TTL);
		arrive(&w, &c, 0, FRAME_TTL);
	}
	ways_end(&w);
	assert_int_equal(w.table.count, 2);
	assert_int_equal(w.table.rows[0].packets, 3);
	assert_int_equal(w.table.rows[1].packets, 6);
	assert_memory_equal(w.table.rows[1].signature.fields.ip_source, &c.local_ip, 16);
	assert_int_equal(ntohs(w.table.rows[1].signature.fields.ip_length), 66);
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
		cmocka_unit_test(test_each_field_of_ip6_tells_of_the_way),
		cmocka_unit_test(test_both_ip_versions_are_two_ways),
		cmocka_unit_test(test_rows_of_one_way_are_merged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
