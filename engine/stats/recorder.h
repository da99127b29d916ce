/*
 * The ring is allocated and faulted in before the trial. If it holds all expected records there is
 * no writer, and nothing goes to disk until the trial is over. A failed write only costs its
 * records (`lost`), and never disturbs the measurement.
 */
#ifndef NINES_RECORDER_H
#define NINES_RECORDER_H

#include <emmintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RECORDER_MAGIC "NINESREC"

enum { RECORDER_VERSION = 3 };
enum recorder_kind { RECORDER_SENT = 1, RECORDER_RECEIVED = 2 };

struct recorder_header {
	char magic[8];
	uint32_t version, kind;
	/* ns = base_ns + (ticks - base_ticks) * ns_per_tick / 2^56 */
	uint64_t base_ticks, base_ns, ns_per_tick;
	uint64_t measured_start_ns;
	uint32_t flows; /* packet `id` belongs to flow id % flows */
	uint8_t reserved[12];
};

struct record {
	uint32_t id;
	/* Sent: how late the send was. Received: how long since the receiver's previous look began.
	 * Saturates. */
	uint32_t before_ns;
	uint64_t ticks;
};

_Static_assert(sizeof(struct recorder_header) == 64, "the file's layout");
_Static_assert(sizeof(struct record) == 16, "the file's layout");

enum {
	RECORDER_CHUNK = 16384,
	RECORDER_CHUNKS_MIN = 4,
	/* 128 MiB: bridges a disk's pause of 0.4 s at 20 Mpps. */
	RECORDER_CHUNKS_MAX = 512,
};

struct recorder {
	/* The chunk being filled; owned by the measuring thread. */
	struct record *next, *end;
	uint64_t overrun; /* packets without room in the ring */
	struct record *chunks;
	uint32_t chunk_count;
	_Alignas(64) _Atomic uint64_t filled; /* by the measuring thread */
	_Alignas(64) _Atomic uint64_t stored; /* by the writer */
	atomic_bool stop;
	bool threaded;
	bool shares_cpu; /* with the measuring thread, because there is no other */
	int fd, error, measuring_cpu;
	uint64_t written, unwritten; /* records */
	pthread_t thread;
};

struct recorder_config {
	const char *file; /* a path, whose file is replaced, or "fd:3", an open file */
	uint64_t expected; /* records, at most; 0: unknown */
	int measuring_cpu; /* -1: any */
};

struct recorder_outcome {
	uint64_t written, lost; /* records */
	int error; /* the first -errno of a write */
};

/* Creates the file, allocates the ring, and starts the writer if one is needed. -errno. */
int recorder_open(struct recorder **out, const struct recorder_config *config);

/* Call when the measuring thread has ended: writes the remaining records and the header, and frees
 * the recorder. A NULL header leaves the file without one. */
void recorder_close(struct recorder *r, const struct recorder_header *header,
		    struct recorder_outcome *outcome);

/* Hands a full chunk to the writer and takes the next; false if none is free. */
bool recorder_turn(struct recorder *r);

static inline uint32_t recorder_saturate(uint64_t ns)
{
	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static inline void recorder_put(struct recorder *r, uint32_t id, uint32_t before_ns, uint64_t ticks)
{
	if (__builtin_expect(r->next == r->end, 0) && !recorder_turn(r)) {
		r->overrun++;
		return;
	}
	/* Bypasses the cache: this core never reads it again, and the measurement's data stays
	 * cached. */
	_mm_stream_si128((__m128i *)(void *)r->next++,
			 _mm_set_epi64x((int64_t)ticks, (int64_t)((uint64_t)before_ns << 32 | id)));
}

#endif
