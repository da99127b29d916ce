/*
 * vhost_fault: survives a guest that takes away memory that we read.
 *
 * When a file is shortened, or a hole is punched in it and no hugepage is left, any access raises
 * SIGBUS. Seals would forbid that, but DPDK guests grow and shrink their files and do not set
 * seals. So a handler replaces the whole mapping with zeros of our own and marks it, and the access
 * continues.
 */
#ifndef NINES_VHOST_FAULT_H
#define NINES_VHOST_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Watches a mapping, and sets `torn` when it breaks. A number for unwatch, or
 * -ENOSPC. */
int vhost_fault_watch(void *start, size_t bytes, atomic_bool *torn);

/* Call when no thread touches the mapping, and before it is unmapped. */
void vhost_fault_unwatch(int watch);

#endif
