/*
 * recorder: every packet of a trial, raw, into a file.
 *
 * The measuring thread fills chunks of locked memory; a writer thread of its own
 * writes full chunks to the file. A chunk that is not free in time costs its
 * packets (counted as lost), never the measurement.
 *
 * The file: a header of 64 bytes, then records of 24 bytes, little-endian.
 */
#ifndef NINES_RECORDER_H
#define NINES_RECORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RECORDER_MAGIC "NINESREC"

struct recorder_header {
	char magic[8];
	uint32_t version, record_bytes;
	double tsc_hz;
	uint64_t base_ticks, base_ns; /* the same moment on both clocks */
	uint64_t measured_start_ns;
	uint8_t reserved[16];
};

struct record {
	uint32_t id;
	uint32_t send_lag_ns;
	uint64_t tx_ticks, rx_ticks;
};

_Static_assert(sizeof(struct recorder_header) == 64, "the file's layout");
_Static_assert(sizeof(struct record) == 24, "the file's layout");

enum { RECORDER_CHUNK = 16384, RECORDER_CHUNKS = 64 };

struct recorder {
	struct record *chunks; /* RECORDER_CHUNKS of RECORDER_CHUNK */
	_Alignas(64) _Atomic uint64_t written; /* chunks filled, by the measuring thread */
	uint32_t fill; /* records in the chunk being filled */
	bool room; /* whether that chunk is free */
	uint64_t lost;
	_Alignas(64) _Atomic uint64_t stored; /* chunks written to the file */
	atomic_bool stop;
	int fd, error;
	unsigned long thread;
};

/* Creates the file and starts the writer. -errno. */
int recorder_open(struct recorder **out, const char *path, const struct recorder_header *header);

/* Writes what is left and joins the writer: 0, or the first -errno of a write. */
int recorder_close(struct recorder *r);

/* Hands the full chunk over and takes the next. */
void recorder_turn(struct recorder *r);

static inline void recorder_put(struct recorder *r, uint32_t id, uint32_t lag, uint64_t tx,
				uint64_t rx)
{
	if (__builtin_expect(!r->room, 0)) {
		recorder_turn(r);
		if (!r->room) {
			r->lost++;
			return;
		}
	}
	uint64_t chunk = atomic_load_explicit(&r->written, memory_order_relaxed) % RECORDER_CHUNKS;
	r->chunks[chunk * RECORDER_CHUNK + r->fill] = (struct record){id, lag, tx, rx};
	if (++r->fill == RECORDER_CHUNK)
		recorder_turn(r);
}

#endif
