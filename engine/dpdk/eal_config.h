/*
 * eal_config: the settings that the command `dpdk` gives to DPDK's environment layer (EAL), and the
 * arguments that pass them to rte_eal_init. Pure: no side effects.
 */
#ifndef NINES_EAL_CONFIG_H
#define NINES_EAL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	EAL_PREFIX_MAX = 64, /* with its NUL */
	EAL_PCI_MAX = 16,
	EAL_PCI_ADDRESS = 13, /* 0000:01:00.0 with its NUL */
	EAL_ARGUMENTS_MAX = 40,
	EAL_ARGUMENT_TEXT = 4096,
};

#define EAL_MEMORY_MIN_BYTES  INT64_C(8388608) /* 8 MiB: four pages of 2 MiB */
#define EAL_MEMORY_MAX_BYTES  INT64_C(1099511627776)
#define EAL_PREFIX_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

struct eal_config {
	char prefix[EAL_PREFIX_MAX];
	uint64_t memory_bytes;
	int32_t memory_node; /* NUMA node of the memory */
	bool huge; /* false: ordinary pages */
	char pci[EAL_PCI_MAX][EAL_PCI_ADDRESS]; /* functions that may be opened */
	unsigned pci_count;
	bool physical; /* one of these devices gets physical addresses: it has no IOMMU */
	int32_t cpu; /* of EAL's own threads; -1: any that the process may use */
};

struct eal_arguments {
	int count;
	char *argv[EAL_ARGUMENTS_MAX + 1]; /* point into text; rte_eal_init reorders them */
	char text[EAL_ARGUMENT_TEXT];
	size_t used;
};

/* 64 MiB of huge pages on node 0. */
void eal_config_init(struct eal_config *config);

/* Whether the text is domain:bus:device.function as sysfs writes it. */
bool eal_is_pci_address(const char *text);

/* The arguments for a process that may use `cpu` (config->cpu, resolved). -E2BIG. */
int eal_arguments_build(struct eal_arguments *arguments, const struct eal_config *config, int cpu);

#endif
