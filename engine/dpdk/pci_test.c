/* Tests pci_check on trees that look like sysfs. */
#include "dpdk/pci.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ADDRESS "0000:01:00.0"

struct tree {
	char root[32];
};

static void run(const char *format, const char *root)
{
	char command[600];
	snprintf(command, sizeof command, "cd %s && %s", root, format);
	assert_int_equal(system(command), 0);
}

/* A function held by a driver; `inner` is the folder above its interface's net, and
 * `state` the interface's, NULL if it has none. */
static void make(struct tree *t, const char *driver, const char *inner, const char *state)
{
	char text[500];
	memcpy(t->root, "/tmp/nines-pci-XXXXXX", 22);
	assert_non_null(mkdtemp(t->root));
	snprintf(text, sizeof text,
		 "d=bus/pci/devices/" ADDRESS " && mkdir -p $d && ln -s ../drivers/%s $d/driver",
		 driver);
	run(text, t->root);
	if (!state)
		return;
	snprintf(text, sizeof text,
		 "d=bus/pci/devices/" ADDRESS
		 "/%s/net/eth0 && mkdir -p $d && echo %s >$d/operstate",
		 inner, state);
	run(text, t->root);
}

static void drop(struct tree *t)
{
	run("rm -r bus", t->root);
	assert_int_equal(rmdir(t->root), 0);
}

static void test_the_hosts_own_uplink_is_not_to_be_bound(void **state)
{
	static const struct {
		const char *inner, *state;
		int used;
	} cases[] = {
		{".", "up", 1},	  {"virtio0", "up", 1},	  {".", "unknown", 1},
		{".", "down", 0}, {"virtio0", "down", 0}, {".", NULL, 0},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct tree t;
		char error[200] = "";
		make(&t, "igb", cases[i].inner, cases[i].state);
		assert_int_equal(pci_check(t.root, ADDRESS, error, sizeof error), -ENODEV);
		assert_string_equal(
			error, cases[i].used ? "PCI device " ADDRESS " is held by the driver igb, "
					       "and its interface eth0 is up: the host uses it; "
					       "choose another"
					     : "PCI device " ADDRESS " is held by the driver igb: "
					       "bind it to vfio-pci first");
		drop(&t);
	}
}

static void test_without_an_iommu_addresses_are_physical(void **state)
{
	static const struct {
		const char *driver, *group;
		bool physical;
	} cases[] = {
		{"uio_pci_generic", NULL, true}, {"igb_uio", NULL, true},
		{"vfio-pci", NULL, false},	 {"vfio-pci", "vfio-noiommu", true},
		{"vfio-pci", "other", false},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct tree t;
		char text[200];
		make(&t, cases[i].driver, ".", NULL);
		if (cases[i].group) {
			snprintf(text, sizeof text,
				 "g=bus/pci/devices/" ADDRESS
				 "/iommu_group && mkdir $g && echo %s >$g/name",
				 cases[i].group);
			run(text, t.root);
		}
		assert_int_equal(pci_needs_physical(t.root, ADDRESS), cases[i].physical);
		drop(&t);
	}
}

static void test_a_function_for_programs_is_taken(void **state)
{
	struct tree t;
	char error[200] = "";
	(void)state;
	make(&t, "vfio-pci", ".", NULL);
	assert_int_equal(pci_check(t.root, ADDRESS, error, sizeof error), 0);
	assert_int_equal(pci_check(t.root, "0000:02:00.0", error, sizeof error), -ENODEV);
	assert_string_equal(error, "there is no PCI device 0000:02:00.0");
	drop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_hosts_own_uplink_is_not_to_be_bound),
		cmocka_unit_test(test_without_an_iommu_addresses_are_physical),
		cmocka_unit_test(test_a_function_for_programs_is_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
