/* The rings, and the thread that writes; see mirror.h. */
#include "switch/mirror.h"

#include "clock/clock.h"
#include "role/thread.h"
#include "switch/mirror_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	RING_BYTES = 8 << 20, /* a power of 2: some 80,000 short packets */
	RECORD_ALIGN = 8,
	TURN_NS = 1000000,
	FILE_BUFFER_BYTES = 1 << 20,
};

/* In the ring, before the bytes that are kept of the packet. */
struct record {
	uint32_t bytes; /* with this header and what aligns the next */
	uint32_t kept; /* SKIPPED: nothing is here up to the ring's end */
	uint32_t length;
	uint32_t unused;
	uint64_t ticks;
};

#define SKIPPED UINT32_MAX

struct ring {
	_Alignas(64) _Atomic uint64_t head; /* the producer's, counted in bytes without end */
	uint64_t tail_seen;
	_Atomic uint64_t dropped;
	_Alignas(64) _Atomic uint64_t tail; /* the writer's */
	uint8_t *bytes;
};

struct mirror {
	struct mirror_config config;
	struct ring rings[2]; /* rx, tx */
	FILE *file;
	pthread_t thread;
	atomic_bool stop;
	_Atomic uint64_t packets;
	int err; /* of the first write that failed */
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

/* Room for a record of so many bytes, contiguous, or NULL. */
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

static void write_all(struct mirror *m, const void *from, size_t bytes)
{
	if (!m->err && fwrite(from, bytes, 1, m->file) != 1)
		m->err = -errno;
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
	write_all(m, &header, sizeof header);
	write_all(m, record + 1, record->kept);
	atomic_fetch_add_explicit(&m->packets, 1, memory_order_relaxed);
}

/* Both rings, merged by time. */
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
	/* Whoever looks at the file sees what there is. */
	if (!m->err && fflush(m->file) != 0)
		m->err = -errno;
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
	if (m->file)
		fclose(m->file);
	free(m->rings[0].bytes);
	free(m->rings[1].bytes);
	free(m);
	mirror_clock_release();
}

static int open_file(struct mirror *m)
{
	struct pcap_header header = {
		.magic = PCAP_MAGIC_NS,
		.major = 2,
		.minor = 4,
		.snap_bytes = m->config.snap_bytes,
		.link = PCAP_LINK_ETHERNET,
	};
	struct stat kind;
	/* A FIFO without a reader would hold up whoever asked for the mirror. */
	int fd = open(m->config.file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &kind) < 0 || !S_ISREG(kind.st_mode) || !(m->file = fdopen(fd, "wb"))) {
		close(fd);
		return -EINVAL;
	}
	setvbuf(m->file, NULL, _IOFBF, FILE_BUFFER_BYTES);
	write_all(m, &header, sizeof header);
	return m->err;
}

int mirror_start(struct mirror **out, const struct mirror_config *config, char *error, size_t size)
{
	int err = -ENOMEM;
	struct mirror *m = aligned_alloc(64, (sizeof *m + 63) / 64 * 64);
	snprintf(error, size, "cannot allocate the mirror");
	if (!m)
		return err;
	memset(m, 0, sizeof *m);
	mirror_clock_acquire();
	m->config = *config;
	if (m->config.snap_bytes == 0)
		m->config.snap_bytes = MIRROR_SNAP_MAX;
	for (int i = 0; i < 2; i++) {
		m->rings[i].bytes = aligned_alloc(64, RING_BYTES);
		if (!m->rings[i].bytes)
			goto fail;
	}
	snprintf(error, size, "cannot write %.400s: it has to be an ordinary file", config->file);
	err = open_file(m);
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
	struct mirror_counts c = {.packets = atomic_load(&m->packets)};
	for (int i = 0; i < 2; i++)
		c.dropped += atomic_load(&m->rings[i].dropped);
	return c;
}

const struct mirror_config *mirror_configured(const struct mirror *m)
{
	return &m->config;
}

int mirror_stop(struct mirror *m, struct mirror_counts *counts)
{
	atomic_store(&m->stop, true);
	pthread_join(m->thread, NULL);
	*counts = mirror_counted(m);
	int err = m->err;
	mirror_free(m);
	return err;
}
