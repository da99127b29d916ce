/*
 * vhost_memory: the memory that a guest shares, found by the guest's addresses.
 *
 * The guest sends files (memfd on tmpfs or hugetlbfs) and says which file holds which of its
 * addresses. The engine trusts none of this: it checks sizes against the file, and if the guest
 * shortens the file later, an access raises SIGBUS, which vhost_fault.c turns into zeros and a mark
 * on the memory.
 *
 * Changed by the protocol thread while the guards of all queues are shut.
 */
#ifndef NINES_VHOST_MEMORY_H
#define NINES_VHOST_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VHOST_REGIONS_MAX = 8 }; /* of VHOST_USER_SET_MEM_TABLE */

struct vhost_region {
	uint64_t guest; /* physical address, as in the guest's descriptors */
	uint64_t user; /* address in the frontend's process, for the rings */
	uint64_t bytes;
	uint8_t *host;
	void *mapping;
	size_t mapped_bytes;
	int watch;
};

struct vhost_memory {
	struct vhost_region regions[VHOST_REGIONS_MAX];
	unsigned count;
	/* The guest took away pages in use and must be disconnected. */
	atomic_bool torn;
};

/* Adds a region; the file may be closed afterwards. -errno with a reason. */
int vhost_memory_add(struct vhost_memory *m, int fd, uint64_t offset, uint64_t bytes,
		     uint64_t guest, uint64_t user, const char **why);
void vhost_memory_clear(struct vhost_memory *m);

/* The ring part at a frontend's address, or NULL if it does not fit in one region. */
void *vhost_memory_user(const struct vhost_memory *m, uint64_t address, uint64_t bytes);

/* The host address of a guest's buffer, or NULL if it does not fit in one region. `hint` is the
 * region that was right last time. */
static inline uint8_t *vhost_memory_guest(const struct vhost_memory *m, unsigned *hint,
					  uint64_t address, uint64_t bytes)
{
	for (unsigned i = 0, at = *hint; i < m->count; i++) {
		const struct vhost_region *r = &m->regions[at];
		uint64_t offset = address - r->guest;
		if (__builtin_expect(offset < r->bytes && bytes <= r->bytes - offset, 1)) {
			*hint = at;
			return r->host + offset;
		}
		at = at + 1 < m->count ? at + 1 : 0;
	}
	return NULL;
}

#endif
