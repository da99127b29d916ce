/* Maps a guest's files; see vhost_memory.h. */
#include "port/vhost_memory.h"

#include "port/vhost_fault.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* Accepts only files whose pages the kernel itself provides. On others, such as FUSE, the guest
 * could make an access wait for ever. */
static bool is_memory(int fd)
{
	struct statfs fs;
	return fstatfs(fd, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC);
}

/* Maps without filling: the engine locks all its memory, but a guest's file may have larger holes
 * than this host has memory. See put_zeros in vhost_fault.c. */
static void *map(int fd, size_t bytes, off_t offset)
{
	void *p = mmap(NULL, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, offset);
	if (p == MAP_FAILED)
		return NULL;
	munlock(p, bytes);
	if (mprotect(p, bytes, PROT_READ | PROT_WRITE) == 0)
		return p;
	munmap(p, bytes);
	return NULL;
}

static bool overlaps(uint64_t a, uint64_t b, uint64_t a_bytes, uint64_t b_bytes)
{
	return a < b + b_bytes && b < a + a_bytes;
}

int vhost_memory_add(struct vhost_memory *m, int fd, uint64_t offset, uint64_t bytes,
		     uint64_t guest, uint64_t user, const char **why)
{
	struct stat file;
	uint64_t end;
	*why = "the memory table has too many regions; DPDK's guests need "
	       "--single-file-segments";
	if (m->count == VHOST_REGIONS_MAX)
		return -E2BIG;
	*why = "a memory region's file cannot be read, or is not a memfd";
	if (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode) || !is_memory(fd))
		return -EINVAL;
	*why = "a memory region is larger than its file";
	if (bytes == 0 || __builtin_add_overflow(offset, bytes, &end) ||
	    end > (uint64_t)file.st_size)
		return -EINVAL;
	*why = "a memory region has impossible addresses";
	if (guest + bytes < guest || user + bytes < user)
		return -EINVAL;
	for (unsigned i = 0; i < m->count; i++)
		if (overlaps(guest, m->regions[i].guest, bytes, m->regions[i].bytes) ||
		    overlaps(user, m->regions[i].user, bytes, m->regions[i].bytes))
			return -EINVAL;
	/* st_blksize is the page size of the file system (hugetlbfs_getattr, shmem_getattr). */
	uint64_t page = (uint64_t)file.st_blksize;
	uint64_t from = offset / page * page, to = (end + page - 1) / page * page;
	struct vhost_region *r = &m->regions[m->count];
	*why = "a memory region cannot be mapped";
	void *p = map(fd, to - from, (off_t)from);
	if (!p)
		return -errno;
	int watch = vhost_fault_watch(p, to - from, &m->torn);
	if (watch < 0) {
		munmap(p, to - from);
		return watch;
	}
	*r = (struct vhost_region){
		.guest = guest,
		.user = user,
		.bytes = bytes,
		.host = (uint8_t *)p + (offset - from),
		.mapping = p,
		.mapped_bytes = to - from,
		.watch = watch,
	};
	m->count++;
	return 0;
}

void vhost_memory_clear(struct vhost_memory *m)
{
	while (m->count > 0) {
		struct vhost_region *r = &m->regions[--m->count];
		vhost_fault_unwatch(r->watch);
		munmap(r->mapping, r->mapped_bytes);
	}
	atomic_store(&m->torn, false);
}

void *vhost_memory_user(const struct vhost_memory *m, uint64_t address, uint64_t bytes)
{
	for (unsigned i = 0; i < m->count; i++) {
		const struct vhost_region *r = &m->regions[i];
		uint64_t offset = address - r->user;
		if (offset < r->bytes && bytes <= r->bytes - offset)
			return r->host + offset;
	}
	return NULL;
}
