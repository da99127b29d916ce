/*
 * vhost_fault: what happens when a guest takes memory away that we read.
 *
 * A file that was made shorter, or had a hole punched where no hugepage is left,
 * raises SIGBUS in whoever touches it. Seals would forbid it, but DPDK's guests,
 * who grow and shrink their files, do not set them. So a handler puts zeros of our
 * own in the place of the whole mapping, marks it, and the access goes on.
 */
#ifndef NINES_VHOST_FAULT_H
#define NINES_VHOST_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Watches a mapping, and sets `torn` when it breaks. A number for unwatch, or
 * -ENOSPC. */
int vhost_fault_watch(void *start, size_t bytes, atomic_bool *torn);

/* When no thread touches the mapping any more, and before it is unmapped. */
void vhost_fault_unwatch(int watch);

#endif
