/* Reads sysfs and /proc/meminfo; see hugepages.h. */
#include "dpdk/hugepages.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

static bool read_count(const char *folder, const char *name, uint64_t *count)
{
	char path[160];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	bool read = fscanf(file, "%" SCNu64, count) == 1;
	fclose(file);
	return read;
}

/* "Hugepagesize:    2048 kB" */
static uint64_t page_bytes(void)
{
	char line[128];
	uint64_t kibibytes = 0;
	FILE *file = fopen("/proc/meminfo", "re");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "Hugepagesize: %" SCNu64 " kB", &kibibytes) == 1)
			break;
	if (file)
		fclose(file);
	return kibibytes << 10;
}

struct hugepages hugepages_of(int node)
{
	struct hugepages h = {.page_bytes = page_bytes()};
	uint64_t kibibytes = h.page_bytes >> 10;
	char folder[112];
	snprintf(folder, sizeof folder,
		 "/sys/devices/system/node/node%d/hugepages/hugepages-%" PRIu64 "kB", node,
		 kibibytes);
	if (!read_count(folder, "nr_hugepages", &h.total)) {
		snprintf(folder, sizeof folder, "/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB",
			 kibibytes);
		if (!read_count(folder, "nr_hugepages", &h.total))
			return h;
	}
	if (!read_count(folder, "free_hugepages", &h.free))
		h.free = 0;
	return h;
}
