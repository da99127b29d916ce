/* Tests checksums against RFC 1071's example and each other; builds, checks, damages and rewrites
 * frames. */
#include "packet/frame.h"
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>

/* The textbook method, for comparison: 16-bit words, one at a time. */
static uint16_t plain_sum(const uint8_t *p, size_t n)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void test_checksum_of_rfc1071(void **state)
{
	(void)state;
	static const uint8_t example[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
	/* RFC 1071, section 3: ddf2. */
	assert_int_equal(ntohs(checksum_fold(checksum_add(0, example, sizeof example))), 0xddf2);
}

static void test_checksum_of_any_length(void **state)
{
	(void)state;
	uint8_t bytes[300];
	srand(3);
	for (int round = 0; round < 200; round++) {
		size_t n = (size_t)rand() % sizeof bytes;
		for (size_t i = 0; i < n; i++)
			bytes[i] = (uint8_t)rand();
		assert_int_equal(ntohs(checksum_fold(checksum_add(0, bytes, n))),
				 plain_sum(bytes, n));
	}
}

static struct port_config config_of(uint32_t frame_bytes)
{
	struct port_config c = {
		.local_mac = {2, 0, 0, 0, 0, 1},
		.peer_mac = {2, 0, 0, 0, 0, 2},
		.udp_port = 7999,
		.frame_bytes = frame_bytes,
		.flows = 1000,
	};
	inet_pton(AF_INET6, "::ffff:198.18.0.1", &c.local_ip);
	inet_pton(AF_INET6, "::ffff:198.18.0.2", &c.peer_ip);
	return c;
}

static struct port_config config6_of(uint32_t frame_bytes)
{
	struct port_config c = config_of(frame_bytes);
	inet_pton(AF_INET6, "2001:2::1", &c.local_ip);
	inet_pton(AF_INET6, "2001:2::2", &c.peer_ip);
	return c;
}

/* The sum of an IPv6 packet's pseudo header (RFC 8200, section 8.1), UDP header and data, by the
 * textbook method. */
static uint16_t plain_udp6_sum(const uint8_t *frame, uint32_t length)
{
	uint8_t bytes[40 + FRAME_MAX_BYTES] = {0};
	uint32_t udp = length - 54;
	memcpy(bytes, frame + 22, 32);
	bytes[34] = (uint8_t)(udp >> 8);
	bytes[35] = (uint8_t)udp;
	bytes[39] = 17;
	memcpy(bytes + 40, frame + 54, udp);
	return plain_sum(bytes, 40 + udp);
}

static const struct payload some_payload = {
	.tx_ticks = UINT64_C(0x334455667788),
	.id = 0x12345678,
	.send_lag_ns = 0x4d0011,
	.stream = 0x1122,
	.flags = PAYLOAD_MEASURED,
};

static void assert_same(const struct payload *a, const struct payload *b)
{
	assert_int_equal(a->tx_ticks, b->tx_ticks);
	assert_int_equal(a->id, b->id);
	assert_int_equal(a->send_lag_ns, b->send_lag_ns);
	assert_int_equal(a->stream, b->stream);
	assert_int_equal(a->flags, b->flags);
}

static void test_frames_of_all_sizes_and_flows_are_good(void **state)
{
	(void)state;
	/* 85 has no trailer, 86 is the first with one; it is at an odd offset in 87 and 9017. */
	static const uint32_t sizes[] = {64, 65, 85, 86, 87, 128, 1518, 9017, 9018};
	uint8_t frame[FRAME_MAX_BYTES];
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		for (int field = 0; field < 2; field++)
			for (uint32_t flow = 0; flow < 1000; flow += 111) {
				struct port_config c = config_of(sizes[i]);
				struct frame_template t;
				struct payload got = {0};
				c.flow_field = (enum port_flow_field)field;
				frame_template_init(&t, &c);
				memset(frame, 0, sizeof frame);
				frame_write(&t, frame, flow, &some_payload);
				assert_int_equal(t.length, sizes[i] - 4);
				assert_int_equal(frame_check(frame, t.length, 7999, false),
						 FRAME_GOOD);
				assert_true(payload_read(frame + FRAME_HEADERS,
							 t.length - FRAME_HEADERS, &got));
				assert_same(&got, &some_payload);
				uint32_t bytes = frame_payload_bytes(&c);
				assert_int_equal(trailer_read(frame + FRAME_HEADERS, bytes, &got),
						 bytes >= 40);
				if (bytes >= 40)
					assert_same(&got, &some_payload);
				/* The receiver's sum over header and data, by the textbook
				 * method. */
				assert_int_equal(plain_sum(frame + 14, 20), 0xffff);
				struct frame_header *h = (struct frame_header *)frame;
				uint32_t ip = ntohl(h->ip_source) - ntohl(address_ip4(&c.local_ip));
				uint32_t port = ntohs(h->udp.source) - 7999u;
				assert_int_equal(field ? ip : port, flow);
				assert_int_equal(field ? port : ip, 0);
			}
}

static void test_frames_of_ip6_are_good(void **state)
{
	(void)state;
	/* 105 has no trailer, 106 is the first with one; it is at an odd offset in 107 and 9017. */
	static const uint32_t sizes[] = {84, 85, 105, 106, 107, 128, 1518, 9017, 9018};
	uint8_t frame[FRAME_MAX_BYTES];
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		for (int field = 0; field < 2; field++)
			for (uint32_t flow = 0; flow < 1000; flow += 111) {
				struct port_config c = config6_of(sizes[i]);
				struct frame_template t;
				struct payload got = {0};
				c.flow_field = (enum port_flow_field)field;
				frame_template_init(&t, &c);
				memset(frame, 0, sizeof frame);
				frame_write(&t, frame, flow, &some_payload);
				assert_int_equal(t.length, sizes[i] - 4);
				assert_int_equal(frame_check(frame, t.length, 7999, false),
						 FRAME_GOOD);
				assert_true(frame_is_udp_to(frame, t.length, 7999));
				assert_false(frame_is_udp_to(frame, t.length, 7998));
				assert_true(frame_is_ip6(frame));
				uint32_t bytes = frame_payload_bytes(&c);
				assert_int_equal(bytes, t.length - 62);
				assert_true(payload_read(frame + 62, bytes, &got));
				assert_same(&got, &some_payload);
				assert_int_equal(trailer_read(frame + 62, bytes, &got),
						 bytes >= 40);
				if (bytes >= 40)
					assert_same(&got, &some_payload);
				assert_int_equal(plain_udp6_sum(frame, t.length), 0xffff);
				struct frame_header6 *h = (struct frame_header6 *)frame;
				uint32_t ip = ntohl(h->ip_source[3]) - 1;
				uint32_t port = ntohs(h->udp.source) - 7999u;
				assert_int_equal(field ? ip : port, flow);
				assert_int_equal(field ? port : ip, 0);
			}
}

/* Bits from an offset on; those that nothing protects may be others. */
static void flip_bits(struct port_config c, uint32_t from, uint32_t to)
{
	uint8_t frame[FRAME_MAX_BYTES] = {0};
	struct frame_template t;
	frame_template_init(&t, &c);
	frame_write(&t, frame, 5, &some_payload);
	for (size_t bit = from * 8; bit < to * 8; bit++) {
		frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_not_equal(frame_check(frame, t.length, 7999, false), FRAME_GOOD);
		frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (uint32_t less = 0; less < t.length; less++)
		assert_int_not_equal(frame_check(frame, less, 7999, true), FRAME_GOOD);
	assert_int_equal(frame_check(frame, t.length, 8000, false), FRAME_FOREIGN);
}

static void test_every_flipped_bit_is_found(void **state)
{
	(void)state;
	flip_bits(config_of(64), 12, 60);
	flip_bits(config_of(87), 12, 83);
	/* IPv6 has no checksum of its header: neither its traffic class, flow label nor hop limit is
	 * protected. */
	flip_bits(config6_of(84), 12, 14);
	flip_bits(config6_of(84), 18, 21);
	flip_bits(config6_of(84), 22, 80);
	flip_bits(config6_of(107), 22, 103);
}

static void complete_a_partial_checksum(struct port_config c)
{
	uint8_t frame[80], whole[80];
	struct frame_template t;
	frame_template_init(&t, &c);
	memset(frame, 0, sizeof frame);
	frame_write(&t, frame, 0, &some_payload);
	memcpy(whole, frame, sizeof frame);
	/* As udp_send_skb in net/ipv4/udp.c leaves it, and udp_v6_send_skb in net/ipv6/udp.c. */
	frame_set_partial_checksum(frame);
	assert_int_equal(frame_check(frame, t.length, 7999, false), FRAME_DAMAGED);
	assert_int_equal(frame_check(frame, t.length, 7999, true), FRAME_GOOD);
	frame_complete_checksum(frame, t.length);
	assert_memory_equal(frame, whole, sizeof frame);
	frame_complete_checksum(frame, t.length); /* a complete checksum stays */
	assert_memory_equal(frame, whole, sizeof frame);
}

static void test_partial_checksums(void **state)
{
	(void)state;
	complete_a_partial_checksum(config_of(64));
	complete_a_partial_checksum(config6_of(84));
}

/* Rewrites frames of one IP version, whose addresses' last 32 bits are at these offsets. */
static void rewrite(struct port_config c, unsigned source, unsigned destination)
{
	uint8_t frame[80];
	struct frame_template t;
	frame_template_init(&t, &c);
	memset(frame, 0, sizeof frame);
	srand(11);
	for (int i = 0; i < 10000; i++) {
		struct payload p = some_payload;
		p.id = (uint32_t)rand();
		p.tx_ticks = (uint64_t)rand() << 20;
		frame_write(&t, frame, (uint32_t)i % 1000, &p);
		struct in6_addr to = c.peer_ip;
		to.s6_addr32[3] = (uint32_t)rand();
		frame_set_destination(frame, &to);
		assert_int_equal(frame_check(frame, t.length, 7999, false), FRAME_GOOD);
		assert_memory_equal(frame + destination, &to.s6_addr32[3], 4);
		frame_swap(frame);
		assert_int_equal(frame_check(frame, t.length, 7999, false), FRAME_GOOD);
		assert_memory_equal(frame + source, &to.s6_addr32[3], 4);
		assert_int_equal(frame[5], 1);
		assert_int_equal(frame[11], 2);
	}
}

static void test_rewriting_keeps_the_sums_right(void **state)
{
	(void)state;
	rewrite(config_of(64), 26, 30);
	rewrite(config6_of(84), 34, 50);
}

static void test_payload_is_the_protocols(void **state)
{
	(void)state;
	static const uint8_t bytes[22] = {0x39, 0x4e, 0x53, 0xf1, 0x78, 0x56, 0x34, 0x12,
					  0x55, 1,    0x11, 0,	  0x4d, 0,    0x88, 0x77,
					  0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
	uint8_t written[40] = {0}, other[18];
	struct payload_words words = payload_pack(&some_payload);
	struct payload p;
	payload_store(written, &words);
	trailer_store(written + trailer_at(sizeof written), &words);
	assert_memory_equal(written, bytes + 4, 18);
	assert_memory_equal(written + 18, bytes, 22);
	assert_true(payload_read(bytes + 4, 18, &p));
	assert_same(&p, &some_payload);
	assert_false(payload_read(bytes + 4, 17, &p));
	assert_true(trailer_read(bytes, 22, &p));
	assert_same(&p, &some_payload);
	assert_false(trailer_read(bytes, 21, &p));
	memcpy(other, bytes + 4, 18);
	other[4] = 0x54;
	assert_false(payload_read(other, 18, &p));
	other[4] = 0x55;
	for (unsigned flags = 0; flags < 256; flags++) {
		other[5] = (uint8_t)flags;
		assert_int_equal(payload_read(other, 18, &p), flags < 8);
	}
	assert_int_equal(payload_saturate_lag(UINT64_C(5000000000)), UINT32_MAX);
	assert_int_equal(payload_saturate_lag(12), 12);
}

static void test_ticks_are_extended_near_the_clock(void **state)
{
	(void)state;
	const uint64_t wrap = UINT64_C(1) << 48, low = wrap - 1;
	/* Before, at and after a wrap, of a packet that was sent before or after the reading. */
	for (uint64_t now = 5 * wrap - 3; now < 5 * wrap + 3; now++)
		for (int64_t away = -3; away <= 3; away++) {
			uint64_t sent = now + (uint64_t)away;
			assert_int_equal(payload_ticks_near(sent & low, now), sent);
		}
	/* The furthest that can be told. */
	uint64_t now = UINT64_C(0x123456789abcdef0);
	assert_int_equal(payload_ticks_near((now - wrap / 2) & low, now), now - wrap / 2);
	assert_int_equal(payload_ticks_near((now + wrap / 2 - 1) & low, now), now + wrap / 2 - 1);
	/* A counter that has just begun, or is about to end. */
	assert_int_equal(payload_ticks_near(1, 5), 1);
	assert_int_equal(payload_ticks_near(low, 5), UINT64_MAX);
	assert_int_equal(payload_ticks_near(4, UINT64_MAX), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checksum_of_rfc1071),
		cmocka_unit_test(test_checksum_of_any_length),
		cmocka_unit_test(test_frames_of_all_sizes_and_flows_are_good),
		cmocka_unit_test(test_frames_of_ip6_are_good),
		cmocka_unit_test(test_every_flipped_bit_is_found),
		cmocka_unit_test(test_partial_checksums),
		cmocka_unit_test(test_rewriting_keeps_the_sums_right),
		cmocka_unit_test(test_payload_is_the_protocols),
		cmocka_unit_test(test_ticks_are_extended_near_the_clock),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
