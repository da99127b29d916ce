/* Tests EAL's arguments, and the parsing of a device's text. */
#include "dpdk/device_text.h"
#include "dpdk/eal_config.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool has(const struct eal_arguments *a, const char *argument)
{
	for (int i = 0; i < a->count; i++)
		if (strcmp(a->argv[i], argument) == 0)
			return true;
	return false;
}

static void test_arguments_of_huge_pages(void **state)
{
	struct eal_arguments a;
	struct eal_config c;
	(void)state;
	eal_config_init(&c);
	memcpy(c.prefix, "nx-a", 5);
	c.memory_bytes = (UINT64_C(100) << 20) + 1;
	c.memory_node = 2;
	assert_int_equal(eal_arguments_build(&a, &c, 3), 0);
	assert_true(has(&a, "--in-memory"));
	assert_true(has(&a, "--single-file-segments"));
	assert_true(has(&a, "--iova-mode=va"));
	assert_true(has(&a, "--file-prefix=nx-a"));
	assert_true(has(&a, "--lcores=0@3"));
	assert_true(has(&a, "--socket-mem=0,0,101"));
	assert_true(has(&a, "--socket-limit=0,0,101"));
	assert_true(has(&a, "--no-pci"));
	assert_null(a.argv[a.count]);
}

static void test_arguments_without_huge_pages(void **state)
{
	struct eal_arguments a;
	struct eal_config c;
	(void)state;
	eal_config_init(&c);
	c.huge = false;
	memcpy(c.pci[0], "0000:01:00.0", EAL_PCI_ADDRESS);
	memcpy(c.pci[1], "0000:01:00.1", EAL_PCI_ADDRESS);
	c.pci_count = 2;
	assert_int_equal(eal_arguments_build(&a, &c, 0), 0);
	assert_true(has(&a, "--no-huge"));
	assert_true(has(&a, "--no-shconf"));
	assert_false(has(&a, "--in-memory")); /* EAL refuses both together */
	assert_true(has(&a, "-m64"));
	assert_true(has(&a, "--iova-mode=va"));
	assert_true(has(&a, "--allow=0000:01:00.0"));
	assert_true(has(&a, "--allow=0000:01:00.1"));
	assert_false(has(&a, "--no-pci"));
}

static void test_arguments_without_an_iommu(void **state)
{
	struct eal_arguments a;
	struct eal_config c;
	(void)state;
	eal_config_init(&c);
	memcpy(c.pci[0], "0000:01:00.0", EAL_PCI_ADDRESS);
	c.pci_count = 1;
	c.physical = true;
	assert_int_equal(eal_arguments_build(&a, &c, 0), 0);
	assert_true(has(&a, "--iova-mode=pa"));
	assert_false(has(&a, "--iova-mode=va"));
}

static void test_arguments_of_many_nodes_fit_or_are_refused(void **state)
{
	struct eal_arguments a;
	struct eal_config c;
	(void)state;
	eal_config_init(&c);
	c.memory_node = 800;
	assert_int_equal(eal_arguments_build(&a, &c, 0), 0);
	c.memory_node = 1024;
	assert_int_equal(eal_arguments_build(&a, &c, 0), -E2BIG);
}

static void test_pci_addresses(void **state)
{
	(void)state;
	assert_true(eal_is_pci_address("0000:01:00.0"));
	assert_true(eal_is_pci_address("fffe:1f:1f.7"));
	assert_false(eal_is_pci_address("01:00.0"));
	assert_false(eal_is_pci_address("0000:01:00.0,x"));
	assert_false(eal_is_pci_address("0000:0G:00.0"));
	assert_false(eal_is_pci_address(""));
}

static void test_devices_say_what_they_do_without_a_peer(void **state)
{
	static const struct {
		const char *text, *name, *socket;
		bool listens, blocks, needs, awaits;
	} cases[] = {
		{"net_null0", "net_null0", "", false, false, false, false},
		{"0000:01:00.0", "0000:01:00.0", "", false, false, false, false},
		{"net_af_packet0,iface=eth0", "net_af_packet0", "", false, false, false, false},
		{"net_vhost0,iface=/a", "net_vhost0", "/a", true, false, false, false},
		{"net_vhost0,iface=/a,client=1", "net_vhost0", "/a", false, false, false, false},
		{"net_virtio_user0,path=/a,queues=1", "net_virtio_user0", "/a", false, false, true,
		 false},
		{"net_virtio_user1,server=1,path=/a", "net_virtio_user1", "/a", true, true, false,
		 false},
		{"net_memif0,role=server,socket=/a,socket-abstract=no", "net_memif0", "/a", true,
		 false, false, false},
		{"net_memif0,socket=/a,socket-abstract=no", "net_memif0", "/a", false, false, false,
		 true},
		{"net_memif0,socket=/a", "net_memif0", "", false, false, false, true},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct device_text d;
		char error[200];
		assert_int_equal(device_text_parse(cases[i].text, &d, error, sizeof error), 0);
		assert_string_equal(d.name, cases[i].name);
		assert_string_equal(d.socket, cases[i].socket);
		assert_int_equal(d.listens, cases[i].listens);
		assert_int_equal(d.blocks, cases[i].blocks);
		assert_int_equal(d.needs_peer, cases[i].needs);
		assert_int_equal(d.awaits_peer, cases[i].awaits);
	}
}

static void test_long_names_and_paths_are_refused(void **state)
{
	char text[300] = "net_vhost0,iface=/", error[300];
	struct device_text d;
	(void)state;
	size_t used = strlen(text);
	memset(text + used, 'x', 106); /* 107 with its slash: the longest */
	text[used + 106] = '\0';
	assert_int_equal(device_text_parse(text, &d, error, sizeof error), 0);
	text[used + 106] = 'x';
	text[used + 107] = '\0';
	assert_int_equal(device_text_parse(text, &d, error, sizeof error), -ENAMETOOLONG);
	assert_non_null(strstr(error, "108 bytes"));
	memset(text, 'n', 64);
	text[64] = '\0';
	assert_int_equal(device_text_parse(text, &d, error, sizeof error), -EINVAL);
	assert_int_equal(device_text_parse(",a=b", &d, error, sizeof error), -EINVAL);
}

static void test_memif_buffers_grow_with_frames(void **state)
{
	char grown[200], error[200];
	struct device_text d;
	const char *text = "net_memif0,socket=/a";
	(void)state;
	assert_int_equal(device_text_parse(text, &d, error, sizeof error), 0);
	assert_ptr_equal(device_text_grow(text, &d, 1518, grown, sizeof grown), text);
	assert_string_equal(device_text_grow(text, &d, 9018, grown, sizeof grown),
			    "net_memif0,socket=/a,bsize=9024");
	text = "net_memif0,socket=/a,bsize=16384";
	assert_ptr_equal(device_text_grow(text, &d, 9018, grown, sizeof grown), text);
	text = "net_null0";
	assert_int_equal(device_text_parse(text, &d, error, sizeof error), 0);
	assert_ptr_equal(device_text_grow(text, &d, 9018, grown, sizeof grown), text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments_of_huge_pages),
		cmocka_unit_test(test_arguments_without_huge_pages),
		cmocka_unit_test(test_arguments_without_an_iommu),
		cmocka_unit_test(test_arguments_of_many_nodes_fit_or_are_refused),
		cmocka_unit_test(test_pci_addresses),
		cmocka_unit_test(test_devices_say_what_they_do_without_a_peer),
		cmocka_unit_test(test_long_names_and_paths_are_refused),
		cmocka_unit_test(test_memif_buffers_grow_with_frames),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
