/* Reads a PCI function's state from sysfs; see pci.h. */
#include "dpdk/pci.h"

#include <errno.h>
#include <glob.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 64, PATH_BYTES = 512 };

/* Whether the host may be using an interface in this operstate
 * (Documentation/ABI/testing/sysfs-class-net): drivers that do not watch their cable report
 * "unknown". */
static bool in_use(const char *operstate)
{
	char state[32] = "";
	FILE *f = fopen(operstate, "re");
	if (!f)
		return false;
	bool read = fgets(state, sizeof state, f) != NULL;
	fclose(f);
	state[strcspn(state, "\n")] = '\0';
	return read && strcmp(state, "down") != 0 && strcmp(state, "notpresent") != 0;
}

/* Finds the function's kernel interface if that is up. virtio has its own device in between. */
static bool find_used_interface(const char *device, char name[NAME_BYTES])
{
	static const char *const forms[] = {"net/*/operstate", "virtio*/net/*/operstate"};
	bool found = false;
	for (size_t i = 0; i < sizeof forms / sizeof forms[0] && !found; i++) {
		char pattern[PATH_BYTES];
		glob_t paths;
		snprintf(pattern, sizeof pattern, "%s/%s", device, forms[i]);
		if (glob(pattern, 0, NULL, &paths) != 0)
			continue;
		for (size_t j = 0; j < paths.gl_pathc && !found; j++) {
			found = in_use(paths.gl_pathv[j]);
			if (found)
				snprintf(name, NAME_BYTES, "%s",
					 basename(dirname(paths.gl_pathv[j])));
		}
		globfree(&paths);
	}
	return found;
}

int pci_check(const char *sysfs, const char *address, char *error, size_t size)
{
	static const char *const drivers[] = {"vfio-pci", "uio_pci_generic", "igb_uio"};
	char device[PATH_BYTES - 64], path[PATH_BYTES], target[256] = "", name[NAME_BYTES];
	snprintf(device, sizeof device, "%s/bus/pci/devices/%s", sysfs, address);
	if (access(device, F_OK) < 0) {
		snprintf(error, size, "there is no PCI device %s", address);
		return -ENODEV;
	}
	snprintf(path, sizeof path, "%s/driver", device);
	ssize_t n = readlink(path, target, sizeof target - 1);
	const char *driver = n > 0 && strrchr(target, '/') ? strrchr(target, '/') + 1 : "none";
	for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++)
		if (strcmp(driver, drivers[i]) == 0)
			return 0;
	/* Binding the host's own uplink to another driver would cut the host off. */
	if (find_used_interface(device, name))
		snprintf(error, size,
			 "PCI device %s is held by the driver %s, and its interface %s is up: the "
			 "host uses it; choose another",
			 address, driver, name);
	else
		snprintf(error, size,
			 "PCI device %s is held by the driver %s: bind it to vfio-pci first",
			 address, driver);
	return -ENODEV;
}

bool pci_needs_physical(const char *sysfs, const char *address)
{
	char path[PATH_BYTES], target[256] = "", group[NAME_BYTES] = "";
	snprintf(path, sizeof path, "%s/bus/pci/devices/%s/driver", sysfs, address);
	ssize_t n = readlink(path, target, sizeof target - 1);
	if (n > 0 && strrchr(target, '/') && strcmp(strrchr(target, '/'), "/vfio-pci") != 0)
		return true;
	/* vfio_noiommu_group_alloc in drivers/vfio/group.c names such groups. */
	snprintf(path, sizeof path, "%s/bus/pci/devices/%s/iommu_group/name", sysfs, address);
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	bool read = fgets(group, sizeof group, f) != NULL;
	fclose(f);
	return read && strncmp(group, "vfio-noiommu", strlen("vfio-noiommu")) == 0;
}
