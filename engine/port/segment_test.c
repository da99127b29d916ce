/* Tests which bursts fit one send, how such a send begins, and what follows a refusal. */
#include "test.h"

#include "packet/frame.h"
#include "port/segment.h"

#include <errno.h>

static void fill(struct packet *burst, unsigned count, uint32_t length)
{
	for (unsigned i = 0; i < count; i++)
		burst[i] = (struct packet){.length = length};
}

static void test_run_ends_where_flow_or_length_changes(void **state)
{
	struct packet burst[PORT_BURST];
	(void)state;
	fill(burst, PORT_BURST, 18);
	assert_int_equal(segment_run(burst, PORT_BURST, 0), 64);
	assert_int_equal(segment_run(burst, 1, 0), 1);
	burst[5].flow = 1;
	assert_int_equal(segment_run(burst, PORT_BURST, 0), 5);
	burst[3].length = 17;
	assert_int_equal(segment_run(burst, PORT_BURST, 0), 3);
}

static void test_run_fits_an_ip_packet(void **state)
{
	struct packet burst[PORT_BURST];
	(void)state;
	fill(burst, PORT_BURST, 1472);
	assert_int_equal(segment_run(burst, PORT_BURST, 0), 44); /* 64,768 bytes */
	fill(burst, PORT_BURST, 1472 + 42);
	assert_int_equal(segment_run(burst, PORT_BURST, 42), 44);
	fill(burst, PORT_BURST, 8972);
	assert_int_equal(segment_run(burst, PORT_BURST, 0), 7); /* 62,804 bytes */
	fill(burst, PORT_BURST, 42);
	assert_int_equal(segment_run(burst, PORT_BURST, 42), 1); /* no payload at all */
}

/* The head of a port's frame, whose UDP header is at an offset. */
static void make_a_head(const struct port_config *config, unsigned udp_at)
{
	struct frame_template template;
	struct payload payload = {.id = 7};
	uint8_t data[128] = {0};
	struct segment_head head;
	frame_template_init(&template, config);
	frame_write(&template, data, 0, &payload);
	struct packet first = {.data = data, .length = template.length};
	segment_head(&head, &first);
	assert_int_equal(head.virtio.flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
	assert_int_equal(head.virtio.gso_type, 5);
	assert_int_equal(head.virtio.gso_size, 18);
	assert_int_equal(head.virtio.hdr_len, udp_at + 8);
	assert_int_equal(head.virtio.csum_start, udp_at);
	assert_int_equal(head.virtio.csum_offset, 6);
	assert_int_equal(segment_head_bytes(&head), sizeof head.virtio + udp_at + 8);
	/* Completed as the kernel does, it equals the frame that `single` sends. */
	uint8_t completed[128];
	memcpy(completed, data, sizeof data);
	memcpy(completed, head.frame, udp_at + 8);
	assert_memory_not_equal(completed, data, sizeof data);
	frame_complete_checksum(completed, template.length);
	assert_memory_equal(completed, data, sizeof data);
}

static void test_head_leaves_the_checksum_to_the_kernel(void **state)
{
	(void)state;
	struct port_config config = {
		.frame_bytes = 64,
		.udp_port = 7999,
		.local_ip.s6_addr32 = {0, 0, 0xffff0000, 0x010012c6},
		.peer_ip.s6_addr32 = {0, 0, 0xffff0000, 0x020012c6},
	};
	make_a_head(&config, 34);
	config.local_ip.s6_addr32[0] = config.peer_ip.s6_addr32[0] = 0x02000120; /* 2001:2::/32 */
	config.frame_bytes = 84;
	make_a_head(&config, 54);
}

static void test_only_batches_are_segmented(void **state)
{
	(void)state;
	const enum port_io others[] = {PORT_SINGLE, PORT_MMSG};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		struct port port = {.config = {.interface = "lo", .io = others[i], .flows = 1}};
		struct segment s = {.on = true};
		segment_look(&s, &port);
		assert_false(s.on);
		assert_int_equal(port.note_count, 0); /* batch was not requested */
	}
}

static void test_refusal_is_for_good_and_noted(void **state)
{
	struct port port = {.config = {.interface = "tx0", .io = PORT_BATCH, .flows = 1}};
	struct segment s = {.on = true};
	(void)state;
	errno = ENOBUFS;
	assert_true(segment_failed(&s, &port)); /* the next burst may succeed */
	assert_true(s.on);
	errno = EAGAIN;
	assert_false(segment_failed(&s, &port)); /* only full, no refusal */
	assert_true(s.on);
	assert_int_equal(port.note_count, 0);
	errno = EIO;
	assert_true(segment_failed(&s, &port));
	assert_false(s.on);
	assert_true(s.refused);
	assert_int_equal(port.note_count, 1);
	assert_non_null(strstr(port.notes[0], "tx0"));
	segment_look(&s, &port);
	assert_false(s.on);
	assert_int_equal(port.note_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_ends_where_flow_or_length_changes),
		cmocka_unit_test(test_run_fits_an_ip_packet),
		cmocka_unit_test(test_head_leaves_the_checksum_to_the_kernel),
		cmocka_unit_test(test_only_batches_are_segmented),
		cmocka_unit_test(test_refusal_is_for_good_and_noted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
