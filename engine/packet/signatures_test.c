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

static struct signature way_of(const struct port_config *c, uint32_t flow, uint8_t ttl)
{
	static uint8_t data[64];
	struct payload payload = {.id = flow};
	struct frame_template t;
	memset(data, 0, sizeof data);
	frame_template_init(&t, c);
	frame_write(&t, data, flow, &payload);
	data[offsetof(struct frame_header, ttl)] = ttl;
	struct signature_flows flows = signature_flows_of(c);
	return signature_of(data, &flows);
}

static void test_a_way_has_the_headers(void **state)
{
	(void)state;
	struct signature s = way_of(&config, 0, FRAME_TTL);
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
		struct signatures t = {0};
		c.flow_field = fields[i];
		c.sender_ip = c.local_ip;
		for (uint32_t flow = 0; flow < 8; flow++) {
			struct signature s = way_of(&c, flow, FRAME_TTL);
			signatures_count(&t, &s);
		}
		assert_int_equal(t.count, 1);
		assert_int_equal(t.rows[0].packets, 8);
		/* One that is none of the sender's flows came another way. */
		struct signature s = way_of(&c, 8, FRAME_TTL);
		signatures_count(&t, &s);
		assert_int_equal(t.count, 2);
	}
}

static void test_every_way_is_counted(void **state)
{
	(void)state;
	struct signatures t = {0};
	for (unsigned round = 0; round < 3; round++)
		for (uint8_t ttl = 1; ttl <= SIGNATURES_MAX + 2; ttl++) {
			struct signature s = way_of(&config, 0, ttl);
			signatures_count(&t, &s);
		}
	assert_int_equal(t.count, SIGNATURES_MAX);
	for (unsigned i = 0; i < t.count; i++)
		assert_int_equal(t.rows[i].packets, 3);
	assert_int_equal(t.others, 6);
}

/* Two CPUs that add a way at once leave two rows of it, and may leave one that has no packet yet. */
static void test_rows_of_one_way_are_merged(void **state)
{
	(void)state;
	struct signatures kernel = {.count = 3, .others = 5}, t = {0};
	for (unsigned i = 0; i < 3; i++)
		kernel.rows[i] = (struct signature_row){way_of(&config, 0, i ? 64 : 63), i};
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
		cmocka_unit_test(test_rows_of_one_way_are_merged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
