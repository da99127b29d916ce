/* Tests that each order of ports comes as often as any other. The seed is fixed. */
#include "role/order.h"
#include "test.h"

enum { DRAWS = 24000 };

static void check_orders(unsigned count, unsigned orders)
{
	struct order order = order_of(count, 12345);
	unsigned seen[256] = {0}, different = 0;
	for (int i = 0; i < DRAWS; i++) {
		unsigned key = 0, ports = 0;
		order_draw(&order);
		for (unsigned j = 0; j < count; j++) {
			key = key * 4 + order.places[j];
			ports |= 1u << order.places[j];
		}
		assert_int_equal(ports, (1u << count) - 1);
		different += seen[key]++ == 0;
	}
	assert_int_equal(different, orders);
	/* 5 standard deviations, of 31 for 24 orders and 77 for 2. */
	unsigned mean = DRAWS / orders, off = orders == 24 ? 155 : 387;
	for (unsigned key = 0; key < 256; key++)
		if (seen[key])
			assert_in_range(seen[key], mean - off, mean + off);
}

static void test_each_order_comes_as_often(void **state)
{
	(void)state;
	check_orders(2, 2);
	check_orders(4, 24);
}

static void test_one_port_needs_no_order(void **state)
{
	(void)state;
	struct order order = order_of(0, 1);
	order_draw(&order);
	for (int i = 0; i < ORDER_MAX; i++)
		assert_int_equal(order.places[i], i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_order_comes_as_often),
		cmocka_unit_test(test_one_port_needs_no_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
