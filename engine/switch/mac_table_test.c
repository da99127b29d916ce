/* Tests the guarantees of the table. */
#include "switch/mac_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static uint64_t key_of(uint32_t n, uint16_t vlan)
{
	const uint8_t mac[6] = {
		2, (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n, 7};
	return mac_key_of(mac, vlan);
}

static uint64_t find(const struct mac_table *t, uint64_t key)
{
	return mac_find(t, key, mac_hash(t, key));
}

static void test_keys_give_back_address_and_vlan(void **state)
{
	const uint8_t mac[6] = {0x02, 0xab, 0xcd, 0xef, 0x01, 0xff};
	uint8_t back[6];
	(void)state;
	uint64_t key = mac_key_of(mac, 4094);
	mac_key_address(key, back);
	assert_memory_equal(mac, back, 6);
	assert_int_equal(mac_key_vlan(key), 4094);
}

static void test_holds_as_many_as_it_promised(void **state)
{
	enum { COUNT = 16384 };
	struct mac_table t;
	(void)state;
	/* With any seed. */
	for (uint64_t seed = 1; seed <= 50; seed++) {
		assert_int_equal(mac_table_init(&t, COUNT, seed * 0x123456789abcdef), 0);
		for (uint32_t i = 0; i < COUNT; i++)
			assert_true(mac_table_learn(&t, key_of(i, 5), i % 64, 1));
		if (seed < 50)
			mac_table_free(&t);
	}
	assert_int_equal(atomic_load(&t.count), COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(mac_port(find(&t, key_of(i, 5))), i % 64);
	assert_int_equal(find(&t, key_of(1, 6)), 0);
	assert_false(mac_table_learn(&t, key_of(COUNT, 5), 0, 1));
	mac_table_free(&t);
}

static void test_moves_but_for_static_ones(void **state)
{
	struct mac_table t;
	(void)state;
	assert_int_equal(mac_table_init(&t, 16, 1), 0);
	assert_true(mac_table_learn(&t, key_of(1, 0), 3, 1));
	assert_true(mac_table_learn(&t, key_of(1, 0), 4, 2));
	assert_int_equal(mac_port(find(&t, key_of(1, 0))), 4);
	assert_true(mac_table_add_static(&t, key_of(1, 0), 5));
	assert_true(mac_table_learn(&t, key_of(1, 0), 6, 3));
	assert_int_equal(mac_port(find(&t, key_of(1, 0))), 5);
	assert_int_equal(atomic_load(&t.count), 1);
	mac_table_free(&t);
}

static void test_forgets_what_was_not_heard(void **state)
{
	struct mac_table t;
	(void)state;
	assert_int_equal(mac_table_init(&t, 16, 1), 0);
	mac_table_learn(&t, key_of(1, 0), 1, 10);
	mac_table_learn(&t, key_of(2, 0), 1, 20);
	mac_table_add_static(&t, key_of(3, 0), 1);
	mac_table_expire(&t, 25, 10);
	assert_int_equal(find(&t, key_of(1, 0)), 0);
	assert_int_not_equal(find(&t, key_of(2, 0)), 0);
	assert_int_not_equal(find(&t, key_of(3, 0)), 0);
	mac_table_flush(&t, 1);
	assert_int_equal(atomic_load(&t.count), 0);
	mac_table_free(&t);
}

/* One thread reads while another changes: a key is never found at a port where it never was. */
struct race {
	struct mac_table table;
	atomic_bool stop;
};

static void *change(void *arg)
{
	struct race *r = arg;
	for (uint32_t turn = 1; !atomic_load(&r->stop); turn++)
		for (uint32_t n = 0; n < 32; n++) {
			mac_table_learn(&r->table, key_of(turn * 32 + n, 0), (turn * 32 + n) % 64,
					turn);
			mac_table_expire(&r->table, turn, 1);
		}
	return NULL;
}

static void test_readers_see_no_mixture(void **state)
{
	struct race r = {0};
	pthread_t thread;
	(void)state;
	assert_int_equal(mac_table_init(&r.table, 64, 99), 0);
	assert_int_equal(pthread_create(&thread, NULL, change, &r), 0);
	for (uint32_t i = 0; i < 2000000; i++) {
		uint32_t n = i % 20000;
		uint64_t value = find(&r.table, key_of(n, 0));
		if (value)
			assert_int_equal(mac_port(value), n % 64);
	}
	atomic_store(&r.stop, true);
	pthread_join(thread, NULL);
	mac_table_free(&r.table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_give_back_address_and_vlan),
		cmocka_unit_test(test_holds_as_many_as_it_promised),
		cmocka_unit_test(test_moves_but_for_static_ones),
		cmocka_unit_test(test_forgets_what_was_not_heard),
		cmocka_unit_test(test_readers_see_no_mixture),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
