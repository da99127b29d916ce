#include "switch/vlan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static const struct vlan_tag untagged = {0};

static struct vlan_tag tag_of(uint16_t control)
{
	return (struct vlan_tag){.tagged = true, .control = control};
}

static struct vlan_port port_of(uint16_t access, uint16_t trunk)
{
	struct vlan_port p;
	vlan_port_init(&p, access);
	if (trunk)
		vlan_port_add(&p, trunk);
	return p;
}

static void test_reads_tags(void **state)
{
	uint8_t frame[60] = {[12] = 0x81, 0x00, 0x60, 0x64};
	(void)state;
	struct vlan_tag tag = vlan_read(frame, sizeof frame);
	assert_true(tag.tagged);
	assert_int_equal(tag.control, 0x6064);
	/* Too short for a tag and the type after it. */
	assert_false(vlan_read(frame, 17).tagged);
	frame[12] = 0x08;
	assert_false(vlan_read(frame, sizeof frame).tagged);
}

static void test_enters_by_membership(void **state)
{
	struct vlan_port none = port_of(0, 0), access = port_of(10, 0), trunk = port_of(0, 100),
			 both = port_of(10, VLAN_MAX);
	(void)state;
	/* In no VLAN: every frame, unchanged. */
	assert_int_equal(vlan_enter(&none, untagged), VLAN_NONE);
	assert_int_equal(vlan_enter(&none, tag_of(100)), VLAN_NONE);
	assert_int_equal(vlan_enter(&access, untagged), 10);
	assert_int_equal(vlan_enter(&access, tag_of(10)), VLAN_DENIED);
	assert_int_equal(vlan_enter(&access, tag_of(0xe000)), 10); /* a priority only */
	assert_int_equal(vlan_enter(&trunk, untagged), VLAN_DENIED);
	assert_int_equal(vlan_enter(&trunk, tag_of(0xe000 | 100)), 100);
	assert_int_equal(vlan_enter(&trunk, tag_of(101)), VLAN_DENIED);
	assert_int_equal(vlan_enter(&both, untagged), 10);
	assert_int_equal(vlan_enter(&both, tag_of(VLAN_MAX)), VLAN_MAX);
}

static void test_leaves_by_membership(void **state)
{
	struct vlan_port none = port_of(0, 0), both = port_of(10, 100);
	(void)state;
	assert_int_equal(vlan_leave(&none, VLAN_NONE), VLAN_EXIT_AS_IT_IS);
	assert_int_equal(vlan_leave(&none, 10), VLAN_EXIT_DENIED);
	assert_int_equal(vlan_leave(&both, VLAN_NONE), VLAN_EXIT_DENIED);
	assert_int_equal(vlan_leave(&both, 10), VLAN_EXIT_UNTAGGED);
	assert_int_equal(vlan_leave(&both, 100), VLAN_EXIT_TAGGED);
	assert_int_equal(vlan_leave(&both, 101), VLAN_EXIT_DENIED);
}

static void test_rewrites_what_changes_or_might(void **state)
{
	(void)state;
	assert_false(vlan_must_rewrite(VLAN_EXIT_AS_IT_IS, tag_of(7)));
	assert_false(vlan_must_rewrite(VLAN_EXIT_UNTAGGED, untagged));
	assert_true(vlan_must_rewrite(VLAN_EXIT_UNTAGGED, tag_of(10)));
	assert_true(vlan_must_rewrite(VLAN_EXIT_TAGGED, untagged));
	/* Its sender could still change the tag. */
	assert_true(vlan_must_rewrite(VLAN_EXIT_TAGGED, tag_of(0xe000 | 10)));
}

static void test_pushes_and_pops(void **state)
{
	uint8_t frame[60], with[64], without[64];
	(void)state;
	for (unsigned i = 0; i < sizeof frame; i++)
		frame[i] = (uint8_t)(i + 1);
	assert_int_equal(vlan_rewrite(with, frame, 60, VLAN_EXIT_TAGGED, untagged, 0xabc), 64);
	const uint8_t tag[4] = {0x81, 0x00, 0x0a, 0xbc};
	assert_memory_equal(with, frame, 12);
	assert_memory_equal(with + 12, tag, 4);
	assert_memory_equal(with + 16, frame + 12, 48);
	assert_int_equal(
		vlan_rewrite(without, with, 64, VLAN_EXIT_UNTAGGED, vlan_read(with, 64), 0xabc),
		60);
	assert_memory_equal(without, frame, 60);
}

/* A priority tag gets its VLAN, and keeps the priority. */
static void test_keeps_the_priority(void **state)
{
	uint8_t frame[64] = {[12] = 0x81, 0x00, 0xe0, 0x00, 0x08}, out[68];
	(void)state;
	assert_int_equal(vlan_rewrite(out, frame, 64, VLAN_EXIT_TAGGED, vlan_read(frame, 64), 10),
			 64);
	assert_int_equal(vlan_read(out, 64).control, 0xe000 | 10);
	assert_memory_equal(out + 16, frame + 16, 48);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_tags),
		cmocka_unit_test(test_enters_by_membership),
		cmocka_unit_test(test_leaves_by_membership),
		cmocka_unit_test(test_rewrites_what_changes_or_might),
		cmocka_unit_test(test_pushes_and_pops),
		cmocka_unit_test(test_keeps_the_priority),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
