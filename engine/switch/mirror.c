/* The rings, and the writer thread; see mirror.h. */
#include "switch/mirror.h"

#include "clock/clock.h"
#include "refusal/refusal.h"
#include "role/thread.h"
#include "switch/mirror_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	RING_BYTES = 8 << 20, /* a power of 2: some 80,000 short packets */
	RECORD_ALIGN = 8,
	TURN_NS = 1000000,
	FILE_BUFFER_BYTES = 1 << 20,
};

/* Precedes the packet's kept bytes in the ring. */
struct record {
	uint32_t bytes; /* with this header and padding */
	uint32_t kept; /* SKIPPED: unused up to the ring's end */
	uint32_t length;
	uint32_t unused;
	uint64_t ticks;
};

#define SKIPPED UINT32_MAX

struct ring {
	_Alignas(64) _Atomic uint64_t head; /* the producer's; counts bytes, never wraps */
	uint64_t tail_seen;
	_Atomic uint64_t dropped;
	_Alignas(64) _Atomic uint64_t tail; /* the writer's */
	uint8_t *bytes;
};

struct mirror {
	struct mirror_config config;
	struct ring rings[2]; /* rx, tx */
	uint64_t id;
	pthread_t thread;
	atomic_bool stop;
	_Atomic uint64_t packets, lost;
	_Atomic int err; /* of the write that failed */

	/* The writer's: whole records to write next. */
	int fd;
	uint8_t *buffer;
	size_t buffer_bytes;
	uint64_t buffer_packets, file_bytes;
};

/* https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap: nanoseconds, Ethernet. */
struct pcap_header {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t reserved[2], snap_bytes, link;
};

struct pcap_record {
	uint32_t seconds, nanoseconds, kept, length;
};

enum { PCAP_LINK_ETHERNET = 1 };
#define PCAP_MAGIC_NS 0xa1b23c4du

/* Contiguous room for a record of `bytes`, or NULL. */
static uint8_t *ring_reserve(struct ring *r, uint32_t bytes, uint64_t *head)
{
	uint64_t at = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint64_t to_end = RING_BYTES - at % RING_BYTES;
	uint64_t need = bytes <= to_end ? bytes : to_end + bytes;
	if (at + need - r->tail_seen > RING_BYTES) {
		r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
		if (at + need - r->tail_seen > RING_BYTES)
			return NULL;
	}
	if (bytes > to_end) {
		/* Records are aligned, so there is room for the two words. */
		struct record *skip = (struct record *)(void *)(r->bytes + at % RING_BYTES);
		skip->bytes = (uint32_t)to_end;
		skip->kept = SKIPPED;
		at += to_end;
	}
	*head = at + bytes;
	return r->bytes + at % RING_BYTES;
}

void mirror_put(struct mirror *m, unsigned direction, const struct packet *burst, unsigned count)
{
	if (!(m->config.directions & direction))
		return;
	struct ring *r = &m->rings[direction == MIRROR_TX];
	uint64_t now = clock_ticks();
	for (unsigned i = 0; i < count; i++) {
		uint32_t kept = burst[i].length < m->config.snap_bytes ? burst[i].length
								       : m->config.snap_bytes;
		uint32_t bytes = (uint32_t)(sizeof(struct record) + kept + RECORD_ALIGN - 1) /
				 RECORD_ALIGN * RECORD_ALIGN;
		uint64_t head;
		uint8_t *at = ring_reserve(r, bytes, &head);
		if (!at) {
			atomic_fetch_add_explicit(&r->dropped, count - i, memory_order_relaxed);
			return;
		}
		struct record record = {
			.bytes = bytes, .kept = kept, .length = burst[i].length, .ticks = now};
		memcpy(at, &record, sizeof record);
		memcpy(at + sizeof record, burst[i].data, kept);
		atomic_store_explicit(&r->head, head, memory_order_release);
	}
}

/* The oldest record, or NULL. */
static const struct record *ring_peek(struct ring *r)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	while (tail != atomic_load_explicit(&r->head, memory_order_acquire)) {
		const struct record *record =
			(const struct record *)(const void *)(r->bytes + tail % RING_BYTES);
		if (record->kept != SKIPPED)
			return record;
		tail += record->bytes;
		atomic_store_explicit(&r->tail, tail, memory_order_release);
	}
	return NULL;
}

static void ring_pop(struct ring *r, const struct record *record)
{
	atomic_fetch_add_explicit(&r->tail, record->bytes, memory_order_release);
}

static int write_all(int fd, const uint8_t *from, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, from, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		from += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/* Counts packets only once they are written, because the disk may be full. */
static void flush(struct mirror *m)
{
	int err = atomic_load(&m->err);
	if (!err) {
		err = write_all(m->fd, m->buffer, m->buffer_bytes);
		/* The file ends with the last record that was counted. */
		if (err && ftruncate(m->fd, (off_t)m->file_bytes) < 0)
			err = -errno;
		atomic_store(&m->err, err);
	}
	atomic_fetch_add(err ? &m->lost : &m->packets, m->buffer_packets);
	m->file_bytes += err ? 0 : m->buffer_bytes;
	m->buffer_bytes = 0;
	m->buffer_packets = 0;
}

static void append(struct mirror *m, const void *from, size_t bytes)
{
	memcpy(m->buffer + m->buffer_bytes, from, bytes);
	m->buffer_bytes += bytes;
}

static void write_record(struct mirror *m, const struct record *record)
{
	uint64_t ns = mirror_clock_wall_ns(record->ticks);
	struct pcap_record header = {
		.seconds = (uint32_t)(ns / 1000000000),
		.nanoseconds = (uint32_t)(ns % 1000000000),
		.kept = record->kept,
		.length = record->length,
	};
	if (m->buffer_bytes + sizeof header + record->kept > FILE_BUFFER_BYTES)
		flush(m);
	append(m, &header, sizeof header);
	append(m, record + 1, record->kept);
	m->buffer_packets++;
}

/* Writes both rings, merged by time. */
static void drain(struct mirror *m)
{
	for (;;) {
		const struct record *rx = ring_peek(&m->rings[0]), *tx = ring_peek(&m->rings[1]);
		if (!rx && !tx)
			break;
		bool rx_first = rx && (!tx || rx->ticks <= tx->ticks);
		write_record(m, rx_first ? rx : tx);
		ring_pop(&m->rings[!rx_first], rx_first ? rx : tx);
	}
	/* The file then holds all packets so far. */
	flush(m);
}

static void *writer(void *arg)
{
	struct mirror *m = arg;
	const struct timespec pause = {.tv_nsec = TURN_NS};
	pthread_setname_np(pthread_self(), "nines-mirror");
	while (!atomic_load(&m->stop)) {
		mirror_clock_keep();
		drain(m);
		nanosleep(&pause, NULL);
	}
	drain(m);
	return NULL;
}

static void mirror_free(struct mirror *m)
{
	if (m->fd >= 0)
		close(m->fd);
	free(m->buffer);
	free(m->rings[0].bytes);
	free(m->rings[1].bytes);
	free(m);
	mirror_clock_release();
}

static int cannot_write(const struct mirror *m, int err, char *error, size_t size)
{
	refusal_say(error, size, err, -1, "cannot write %.400s", m->config.file);
	return err;
}

static int open_file(struct mirror *m, char *error, size_t size)
{
	struct pcap_header header = {
		.magic = PCAP_MAGIC_NS,
		.major = 2,
		.minor = 4,
		.snap_bytes = m->config.snap_bytes,
		.link = PCAP_LINK_ETHERNET,
	};
	struct stat kind;
	/* A FIFO without a reader would block the caller. */
	m->fd = open(m->config.file, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
	if (m->fd < 0)
		return cannot_write(m, -errno, error, size);
	snprintf(error, size, "cannot write %.400s: it must be a regular file", m->config.file);
	if (fstat(m->fd, &kind) < 0 || !S_ISREG(kind.st_mode))
		return -EINVAL;
	/* The lock belongs to the file, not its name, and to each opening, so it keeps out any
	 * other mirror, of this switch or another. Not all file systems support it. */
	if (flock(m->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		snprintf(error, size, "%.400s is used by another mirror; name another file",
			 m->config.file);
		return -EBUSY;
	}
	if (ftruncate(m->fd, 0) < 0)
		return cannot_write(m, -errno, error, size);
	m->file_bytes = sizeof header;
	int err = write_all(m->fd, (const uint8_t *)&header, sizeof header);
	return err ? cannot_write(m, err, error, size) : 0;
}

int mirror_start(struct mirror **out, const struct mirror_config *config, char *error, size_t size)
{
	static _Atomic uint64_t started;
	int err = -ENOMEM;
	struct mirror *m = aligned_alloc(64, (sizeof *m + 63) / 64 * 64);
	snprintf(error, size, "cannot allocate the mirror");
	if (!m)
		return err;
	memset(m, 0, sizeof *m);
	mirror_clock_acquire();
	m->config = *config;
	m->id = atomic_fetch_add(&started, 1) + 1;
	m->fd = -1;
	if (m->config.snap_bytes == 0)
		m->config.snap_bytes = MIRROR_SNAP_MAX;
	for (int i = 0; i < 2; i++) {
		m->rings[i].bytes = aligned_alloc(64, RING_BYTES);
		if (!m->rings[i].bytes)
			goto fail;
	}
	m->buffer = malloc(FILE_BUFFER_BYTES);
	if (!m->buffer)
		goto fail;
	err = open_file(m, error, size);
	if (err)
		goto fail;
	err = thread_start(&m->thread, -1, writer, m, error, size);
	if (err)
		goto fail;
	*out = m;
	return 0;
fail:
	mirror_free(m);
	return err;
}

struct mirror_counts mirror_counted(const struct mirror *m)
{
	struct mirror_counts c = {
		.packets = atomic_load(&m->packets),
		.dropped = atomic_load(&m->lost),
		.err = atomic_load(&m->err),
	};
	for (int i = 0; i < 2; i++)
		c.dropped += atomic_load(&m->rings[i].dropped);
	return c;
}

const struct mirror_config *mirror_configured(const struct mirror *m)
{
	return &m->config;
}

uint64_t mirror_id(const struct mirror *m)
{
	return m->id;
}

void mirror_stop(struct mirror *m, struct mirror_counts *counts)
{
	atomic_store(&m->stop, true);
	pthread_join(m->thread, NULL);
	*counts = mirror_counted(m);
	mirror_free(m);
}
