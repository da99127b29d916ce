/* Tests that the second stamp is found behind whatever a device put before it, and nowhere else. */
#include "packet/frame.h"
#include "packet/trailer.h"
#include "test.h"

#include <arpa/inet.h>
#include <stdlib.h>

enum { FRAME_BYTES = 128, LENGTH = FRAME_BYTES - FRAME_FCS_BYTES, ADDED_MAX = 64 };

static const struct payload stamp = {
	.tx_ticks = UINT64_C(0x112233445566),
	.id = 0x12345678,
	.send_lag_ns = 77,
	.stream = 3,
	.flags = PAYLOAD_MEASURED,
};

static void write_frame(uint8_t *frame)
{
	struct port_config c = {
		.local_mac = {2, 0, 0, 0, 0, 1},
		.peer_mac = {2, 0, 0, 0, 0, 2},
		.local_ip.s6_addr32 = {0, 0, htonl(0xffff), htonl(0x0a000001)},
		.peer_ip.s6_addr32 = {0, 0, htonl(0xffff), htonl(0x0a000002)},
		.udp_port = 7999,
		.frame_bytes = FRAME_BYTES,
		.flows = 1,
	};
	struct frame_template t;
	memset(frame, 0, LENGTH);
	frame_template_init(&t, &c);
	frame_write(&t, frame, 0, &stamp);
}

/* Checks that the frame has the stamp this far before the place where `end` bytes of it end. */
static void assert_found(const uint8_t *frame, uint32_t length, uint32_t end)
{
	/* A copy of exactly this length: the sanitizer sees each byte that is read beyond. */
	uint8_t *copy = malloc(length);
	struct payload got;
	memcpy(copy, frame, length);
	assert_int_equal(trailer_find(copy, length, &got), end - TRAILER_BYTES);
	assert_int_equal(got.id, stamp.id);
	assert_int_equal(got.tx_ticks, stamp.tx_ticks);
	assert_int_equal(got.stream, stamp.stream);
	free(copy);
}

static void test_it_is_at_the_end_of_a_frame(void **state)
{
	(void)state;
	uint8_t frame[LENGTH];
	write_frame(frame);
	assert_found(frame, LENGTH, LENGTH);
}

/* A VLAN tag, an MPLS label, IP in IP, GRE, VXLAN: whatever it is, it comes before. */
static void test_headers_may_come_before_it(void **state)
{
	(void)state;
	uint8_t frame[LENGTH], longer[LENGTH + ADDED_MAX];
	write_frame(frame);
	for (uint32_t added = 0; added <= ADDED_MAX; added++) {
		memcpy(longer, frame, 12);
		memset(longer + 12, 0x81, added);
		memcpy(longer + 12 + added, frame + 12, LENGTH - 12);
		assert_found(longer, LENGTH + added, LENGTH + added);
	}
}

static void test_bytes_may_come_after_an_ip_packet(void **state)
{
	(void)state;
	static const uint8_t tags[2][4] = {{0x81, 0, 0, 5}, {0x88, 0xa8, 0, 7}};
	uint8_t frame[LENGTH], longer[LENGTH + 2 * 4 + 8];
	write_frame(frame);
	for (uint32_t count = 0; count <= 2; count++) {
		uint32_t end = LENGTH + 4 * count;
		memset(longer, 0xee, sizeof longer);
		memcpy(longer, frame, 12);
		memcpy(longer + 12, tags[2 - count], 4 * (size_t)count);
		memcpy(longer + 12 + 4 * count, frame + 12, LENGTH - 12);
		assert_found(longer, end + 8, end);
	}
}

static void test_ipv6_has_it_too(void **state)
{
	(void)state;
	enum { IPV6 = 40, PAYLOAD = 8 + TRAILER_LEAST_BYTES, END = 14 + IPV6 + PAYLOAD };
	uint8_t frame[END + 6];
	struct payload_words words = payload_pack(&stamp);
	memset(frame, 0, sizeof frame);
	frame[12] = 0x86;
	frame[13] = 0xdd;
	frame[14 + 5] = PAYLOAD;
	trailer_store(frame + END - TRAILER_BYTES, &words);
	assert_found(frame, sizeof frame, END);
}

/* Of a frame of any length, and with any length in its header, no byte beyond it is read. */
static void test_cut_frames_have_none(void **state)
{
	(void)state;
	uint8_t frame[LENGTH];
	struct payload got;
	write_frame(frame);
	for (uint32_t length = 0; length < LENGTH; length++) {
		uint8_t *copy = malloc(length ? length : 1);
		memcpy(copy, frame, length);
		assert_int_equal(trailer_find(copy, length, &got), -1);
		free(copy);
	}
	static const uint8_t types[2][2] = {{0x86, 0xdd}, {0x08, 0x00}}; /* IPv6, IPv4 */
	srand(3);
	for (int i = 0; i < 100000; i++) {
		uint32_t length = (uint32_t)rand() % LENGTH;
		uint8_t *copy = malloc(length ? length : 1);
		for (uint32_t j = 0; j < length; j++)
			copy[j] = (uint8_t)rand();
		if (length > 14)
			memcpy(copy + 12, types[i % 2], 2);
		assert_int_equal(trailer_find(copy, length, &got), -1);
		free(copy);
	}
}

static void test_a_flipped_bit_of_its_marks_is_none(void **state)
{
	(void)state;
	uint8_t frame[LENGTH], *trailer = frame + LENGTH - TRAILER_BYTES;
	struct payload got;
	write_frame(frame);
	for (int bit = 0; bit < 10 * 8; bit++) {
		int at = bit / 8;
		bool id = at >= TRAILER_MARK_BYTES && at < TRAILER_MARK_BYTES + 4;
		bool flag = at == TRAILER_MARK_BYTES + 5 && (1 << bit % 8 & PAYLOAD_FLAGS);
		trailer[at] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(trailer_find(frame, LENGTH, &got) >= 0, id || flag);
		trailer[at] ^= (uint8_t)(1 << bit % 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_at_the_end_of_a_frame),
		cmocka_unit_test(test_headers_may_come_before_it),
		cmocka_unit_test(test_bytes_may_come_after_an_ip_packet),
		cmocka_unit_test(test_ipv6_has_it_too),
		cmocka_unit_test(test_cut_frames_have_none),
		cmocka_unit_test(test_a_flipped_bit_of_its_marks_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
