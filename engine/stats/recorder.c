/* The ring and the writer of the recorder; see recorder.h. */
#include "stats/recorder.h"

#include "stats/file.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	/* A hundredth of the ring at 20 Mpps; and rare enough that a writer on the measuring CPU
	 * hardly disturbs. */
	PAUSE_NS = 5000000,
	HUGE_PAGE = 2 << 20,
	CPUS_MAX = 4096,
};

static int write_all(int fd, const void *data, size_t length, uint64_t at)
{
	const char *p = data;
	while (length > 0) {
		ssize_t n = pwrite(fd, p, length, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		at += (uint64_t)n;
		length -= (size_t)n;
	}
	return 0;
}

/* Keeps records in order: after a failed write, none is written. */
static void store(struct recorder *r, uint64_t chunk, size_t records)
{
	const struct record *from = r->chunks + (chunk % r->chunk_count) * RECORDER_CHUNK;
	if (!r->error)
		r->error = write_all(r->fd, from, records * sizeof *from,
				     sizeof(struct recorder_header) + r->written * sizeof *from);
	if (r->error)
		r->unwritten += records;
	else
		r->written += records;
}

static void store_filled(struct recorder *r)
{
	uint64_t filled = atomic_load_explicit(&r->filled, memory_order_acquire);
	uint64_t stored = atomic_load_explicit(&r->stored, memory_order_relaxed);
	while (stored < filled) {
		store(r, stored, RECORDER_CHUNK);
		atomic_store_explicit(&r->stored, ++stored, memory_order_release);
	}
}

/* Moves the thread off the measuring CPU; false if it may not run anywhere else. */
static bool leave_cpu(int cpu)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	bool left = false;
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	if (!set)
		return false;
	CPU_ZERO_S(size, set);
	if (sched_getaffinity(0, size, set) == 0) {
		CPU_CLR_S((size_t)cpu, size, set);
		left = CPU_COUNT_S(size, set) > 0 && sched_setaffinity(0, size, set) == 0;
	}
	CPU_FREE(set);
	return left;
}

static void *writer(void *arg)
{
	struct recorder *r = arg;
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	pthread_setname_np(pthread_self(), "nines-record");
	r->shares_cpu = r->measuring_cpu >= 0 && !leave_cpu(r->measuring_cpu);
	while (!atomic_load(&r->stop)) {
		store_filled(r);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static uint32_t ring_chunks(uint64_t expected)
{
	uint64_t chunks = expected ? expected / RECORDER_CHUNK + 1 : RECORDER_CHUNKS_MAX;
	if (chunks < RECORDER_CHUNKS_MIN)
		return RECORDER_CHUNKS_MIN;
	return chunks < RECORDER_CHUNKS_MAX ? (uint32_t)chunks : RECORDER_CHUNKS_MAX;
}

static size_t ring_bytes(const struct recorder *r)
{
	size_t bytes = (size_t)r->chunk_count * RECORDER_CHUNK * sizeof(struct record);
	return (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

int recorder_open(struct recorder **out, const struct recorder_config *config)
{
	int err = -ENOMEM;
	struct recorder *r = aligned_alloc(64, (sizeof *r + 63) / 64 * 64);
	if (!r)
		return err;
	memset(r, 0, sizeof *r);
	r->measuring_cpu = config->measuring_cpu;
	r->chunk_count = ring_chunks(config->expected);
	r->chunks = aligned_alloc(HUGE_PAGE, ring_bytes(r));
	if (!r->chunks)
		goto free_recorder;
	/* Only advice: small pages cost more TLB misses, and nothing else. */
	madvise(r->chunks, ring_bytes(r), MADV_HUGEPAGE);
	memset(r->chunks, 0, ring_bytes(r));
	r->next = r->chunks;
	r->end = r->chunks + RECORDER_CHUNK;
	err = file_open(config->file, false, &r->fd);
	if (err)
		goto free_chunks;
	/* Finds a full disk or a wrong path before anything is measured. */
	struct recorder_header unfinished = {0};
	err = write_all(r->fd, &unfinished, sizeof unfinished, 0);
	if (err)
		goto close_file;
	r->threaded =
		!config->expected || config->expected > (uint64_t)r->chunk_count * RECORDER_CHUNK;
	if (r->threaded)
		err = -pthread_create(&r->thread, NULL, writer, r);
	if (err)
		goto close_file;
	*out = r;
	return 0;
close_file:
	close(r->fd);
free_chunks:
	free(r->chunks);
free_recorder:
	free(r);
	return err;
}

bool recorder_turn(struct recorder *r)
{
	uint64_t filled = atomic_load_explicit(&r->filled, memory_order_relaxed);
	if (r->end) {
		r->next = r->end = NULL;
		/* Streaming stores are not ordered by the release that follows. */
		_mm_sfence();
		atomic_store_explicit(&r->filled, ++filled, memory_order_release);
	}
	if (filled - atomic_load_explicit(&r->stored, memory_order_acquire) == r->chunk_count)
		return false;
	r->next = r->chunks + (filled % r->chunk_count) * RECORDER_CHUNK;
	r->end = r->next + RECORDER_CHUNK;
	return true;
}

void recorder_close(struct recorder *r, const struct recorder_header *header,
		    struct recorder_outcome *outcome)
{
	if (r->threaded) {
		atomic_store(&r->stop, true);
		pthread_join(r->thread, NULL);
	}
	store_filled(r);
	if (r->end)
		store(r, atomic_load(&r->filled), RECORDER_CHUNK - (size_t)(r->end - r->next));
	/* Also after an error: its place exists, and what was written can then be read. */
	int err = header ? write_all(r->fd, header, sizeof *header, 0) : 0;
	if (!r->error)
		r->error = err;
	if (close(r->fd) < 0 && !r->error)
		r->error = -errno;
	*outcome = (struct recorder_outcome){r->written, r->overrun + r->unwritten, r->error};
	free(r->chunks);
	free(r);
}
