/* Builds EAL's arguments; see eal_config.h. What each option is for:
 *
 *   --in-memory              no files and no lock in /run: hugepages are anonymous and go back
 *                            to the host when the process ends, in any way; engines on the
 *                            same host cannot disturb each other; without huge pages
 *                            --no-shconf does that
 *   --single-file-segments   one descriptor for all pages, because a vhost-user peer takes at
 *                            most 8 (VHOST_MEMORY_MAX_NREGIONS)
 *   --iova-mode=va           devices get virtual addresses: EAL reads no page map, so
 *                            this works in a container; pa if a device has no IOMMU
 *   --socket-mem, -limit     EAL takes the memory at once and never takes more, so
 *                            the plan's sum is right
 */
#include "dpdk/eal_config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void eal_config_init(struct eal_config *config)
{
	memset(config, 0, sizeof *config);
	config->memory_bytes = UINT64_C(64) << 20;
	config->huge = true;
	config->cpu = -1;
}

bool eal_is_pci_address(const char *text)
{
	static const char shape[] = "xxxx:xx:xx.x";
	for (size_t i = 0; i < sizeof shape; i++) {
		bool fits = shape[i] == 'x' ? text[i] && strchr("0123456789abcdef", text[i])
					    : text[i] == shape[i];
		if (!fits)
			return false;
	}
	return true;
}

static int add(struct eal_arguments *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int add(struct eal_arguments *a, const char *format, ...)
{
	size_t room = sizeof a->text - a->used;
	if (a->count == EAL_ARGUMENTS_MAX)
		return -E2BIG;
	va_list args;
	va_start(args, format);
	int n = vsnprintf(a->text + a->used, room, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= room)
		return -E2BIG;
	a->argv[a->count++] = a->text + a->used;
	a->argv[a->count] = NULL;
	a->used += (size_t)n + 1;
	return 0;
}

/* --socket-mem and its limit: "0,0,64" is 64 MiB of node 2. */
static int add_memory(struct eal_arguments *a, const struct eal_config *c)
{
	uint64_t mebibytes = (c->memory_bytes + (1 << 20) - 1) >> 20;
	char list[2 * 1024 + 32];
	size_t used = 0;
	if (!c->huge)
		return add(a, "-m%" PRIu64, mebibytes) ?: add(a, "--no-huge") ?: add(a, "--no-shconf");
	if (c->memory_node < 0 || c->memory_node >= 1024)
		return -E2BIG;
	for (; used < 2 * (size_t)c->memory_node; used += 2)
		memcpy(list + used, "0,", 3);
	snprintf(list + used, sizeof list - used, "%" PRIu64, mebibytes);
	return add(a, "--socket-mem=%s", list) ?: add(a, "--socket-limit=%s", list);
}

int eal_arguments_build(struct eal_arguments *a, const struct eal_config *c, int cpu)
{
	a->count = 0;
	a->used = 0;
	int err = add(a, "nines-engine");
	if (c->huge)
		err = err ?: add(a, "--in-memory");
	err = err ?: add(a, "--single-file-segments");
	err = err ?: add(a, "--iova-mode=%s", c->physical ? "pa" : "va");
	err = err ?: add(a, "--no-telemetry");
	err = err ?: add(a, "--file-prefix=%s", c->prefix);
	err = err ?: add(a, "--lcores=0@%d", cpu);
	err = err ?: add_memory(a, c);
	if (!err && c->pci_count == 0)
		err = add(a, "--no-pci");
	for (unsigned i = 0; i < c->pci_count; i++)
		err = err ?: add(a, "--allow=%s", c->pci[i]);
	return err;
}
