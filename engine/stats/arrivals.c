/* The memory of the arrivals, and what is rare; see arrivals.h. */
#include "stats/arrivals.h"

#include "stats/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Rows for long times without a packet: one every 3 s, which are two at 2.6 GHz, and a few. */
static uint64_t carries(uint64_t duration_ns)
{
	return duration_ns / UINT64_C(3000000000) + 64;
}

/* Reserves the memory, because a page that cannot be had later would kill the engine (SIGBUS). */
static int reserve(int fd, size_t bytes)
{
	struct stat status;
	struct statfs system;
	if (fstat(fd, &status) < 0 || fstatfs(fd, &system) < 0)
		return -errno;
	if (system.f_type != TMPFS_MAGIC && system.f_type != HUGETLBFS_MAGIC)
		return -EMEDIUMTYPE;
	return fallocate(fd, 0, 0, (off_t)bytes) < 0 ? -errno : 0;
}

static int map(struct arrivals *a, int fd)
{
	int err = reserve(fd, a->bytes);
	if (err)
		return err;
	void *memory =
		mmap(NULL, a->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	a->header = memory;
	/* An earlier trial's header would mislead readers. */
	memset(memory, 0, sizeof *a->header);
	a->rows = (uint64_t *)(a->header + 1);
	return 0;
}

int arrivals_open(struct arrivals **out, const struct arrivals_config *config)
{
	enum {
		ROWS_MAX =
			(ARRIVALS_BYTES_MAX - sizeof(struct arrivals_header)) / ARRIVALS_ROW_BYTES
	};
	uint64_t more = carries(config->duration_ns) + ARRIVALS_BURST + config->twice,
		 packets = ROWS_MAX - more;
	uint64_t one_in = (config->expected + packets - 1) / packets;
	if (more >= ROWS_MAX)
		return -EINVAL;
	if (one_in <= 1) {
		one_in = 1;
		packets = config->expected ? config->expected : packets;
	}
	int fd, err = file_open(config->file, true, &fd);
	if (err)
		return err;
	struct arrivals *a = calloc(1, sizeof *a);
	if (!a) {
		close(fd);
		return -ENOMEM;
	}
	a->bytes = sizeof *a->header + (packets + more) * ARRIVALS_ROW_BYTES;
	err = map(a, fd);
	close(fd);
	if (!a->header) {
		free(a);
		return err;
	}
	a->limit = (uint32_t)(UINT32_MAX / one_in);
	a->next = a->rows;
	a->end = a->rows + packets + more;
	a->header->version = ARRIVALS_VERSION;
	a->header->one_in = (uint32_t)one_in;
	a->header->capacity = packets + more;
	*out = a;
	return 0;
}

void arrivals_begin(struct arrivals *a, uint64_t base_ticks, uint64_t measured_ticks,
		    const struct clock_scale *scale)
{
	struct arrivals_header *h = a->header;
	a->last = base_ticks >> ARRIVALS_TICKS_LOG2;
	a->arrived_ticks = base_ticks;
	a->scale = *scale;
	h->base_ticks = a->last << ARRIVALS_TICKS_LOG2;
	h->measured_ticks = measured_ticks;
	h->ns_per_tick = scale->ns_per_tick;
	arrivals_tell(a, ARRIVALS_RUNNING);
	memcpy(h->magic, ARRIVALS_MAGIC, sizeof h->magic);
}

uint32_t arrivals_choose(struct arrivals *a, const uint32_t *ids, uint32_t count)
{
	uint32_t chosen = 0;
	for (uint32_t i = 0; i < count; i++)
		if (arrivals_chosen(a, ids[i]))
			a->next[chosen++] = a->next[i];
	return chosen;
}

uint64_t arrivals_carry(struct arrivals *a, uint64_t units)
{
	/* The counter of a CPU may be behind that of another. */
	if ((int64_t)units < 0)
		return 0;
	for (; units >= ARRIVALS_CARRY && a->next < a->end; units -= ARRIVALS_CARRY) {
		*a->next++ = ARRIVALS_CARRY;
		a->last += ARRIVALS_CARRY;
	}
	return units;
}

void arrivals_lost(struct arrivals *a, uint32_t id, uint64_t due_ns, uint32_t mark)
{
	if (!arrivals_chosen(a, id))
		return;
	if (a->next == a->end) {
		a->header->lost_missed++;
		return;
	}
	*--a->end = due_ns | (uint64_t)mark << 32;
	a->header->lost++;
}

void arrivals_found(struct arrivals *a)
{
	a->end = a->rows + a->header->capacity;
	a->header->lost = a->header->lost_missed = 0;
}

void arrivals_lost_untold(struct arrivals *a, uint64_t packets)
{
	a->header->lost_missed += packets;
}

void arrivals_close(struct arrivals *a, uint64_t ns_per_tick, struct arrivals_header *final)
{
	a->header->ns_per_tick = ns_per_tick;
	a->header->missed = a->missed;
	for (const uint64_t *row = a->rows; row < a->next; row++)
		a->header->saturated += *row >> 32 == UINT32_MAX;
	arrivals_tell(a, ARRIVALS_ENDED);
	*final = *a->header;
	munmap(a->header, a->bytes);
	free(a);
}
