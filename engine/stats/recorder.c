/* The writer thread of the raw record; see recorder.h. */
#include "stats/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int write_all(int fd, const void *data, size_t length)
{
	const char *p = data;
	while (length > 0) {
		ssize_t n = write(fd, p, length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		length -= (size_t)n;
	}
	return 0;
}

static void store(struct recorder *r, uint64_t chunk, uint32_t records)
{
	const struct record *from = r->chunks + (chunk % RECORDER_CHUNKS) * RECORDER_CHUNK;
	if (!r->error)
		r->error = write_all(r->fd, from, records * sizeof *from);
}

static void *writer(void *arg)
{
	struct recorder *r = arg;
	/* A chunk lasts 0.8 ms at 20 Mpps, all of them 52 ms. */
	struct timespec pause = {.tv_nsec = 2000000};
	for (;;) {
		bool last = atomic_load(&r->stop);
		uint64_t written = atomic_load_explicit(&r->written, memory_order_acquire);
		uint64_t stored = atomic_load_explicit(&r->stored, memory_order_relaxed);
		while (stored < written) {
			store(r, stored, RECORDER_CHUNK);
			atomic_store_explicit(&r->stored, ++stored, memory_order_release);
		}
		if (last)
			return NULL;
		nanosleep(&pause, NULL);
	}
}

int recorder_open(struct recorder **out, const char *path, const struct recorder_header *header)
{
	int err = -ENOMEM;
	size_t bytes = (size_t)RECORDER_CHUNKS * RECORDER_CHUNK * sizeof(struct record);
	struct recorder *r = aligned_alloc(64, (sizeof *r + 63) / 64 * 64);
	if (!r)
		return err;
	memset(r, 0, sizeof *r);
	r->room = true;
	r->chunks = malloc(bytes);
	if (!r->chunks)
		goto free_recorder;
	memset(r->chunks, 0, bytes);
	r->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (r->fd < 0) {
		err = -errno;
		goto free_chunks;
	}
	err = write_all(r->fd, header, sizeof *header);
	if (err)
		goto close_file;
	pthread_t thread;
	err = -pthread_create(&thread, NULL, writer, r);
	if (err)
		goto close_file;
	r->thread = thread;
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

void recorder_turn(struct recorder *r)
{
	uint64_t written = atomic_load_explicit(&r->written, memory_order_relaxed);
	if (r->fill == RECORDER_CHUNK) {
		r->fill = 0;
		atomic_store_explicit(&r->written, ++written, memory_order_release);
	}
	r->room =
		written - atomic_load_explicit(&r->stored, memory_order_acquire) < RECORDER_CHUNKS;
}

int recorder_close(struct recorder *r)
{
	atomic_store(&r->stop, true);
	pthread_join(r->thread, NULL);
	store(r, atomic_load(&r->written), r->fill);
	if (close(r->fd) < 0 && !r->error)
		r->error = -errno;
	int err = r->error;
	free(r->chunks);
	free(r);
	return err;
}
