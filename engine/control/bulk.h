/*
 * bulk: what an answer has in numbers rather than in words, in one binary block: of a trial its
 * histograms, their blocks of time, the slowest packets and those picked at random; of all threads
 * their interruptions. docs/reference/engine-protocol.md has the layout; engine/client reads it.
 *
 * It travels in the answer's own line, as base64, and not by a descriptor as records do: engines in
 * virtual machines and pods have none of nines', and what relays their answers passes lines.
 */
#ifndef NINES_BULK_H
#define NINES_BULK_H

#include "role/trial.h"

#define BULK_MAGIC "NINESBLK"

enum { BULK_VERSION = 1 };

/* Of a section that belongs to no single stream. */
#define BULK_ALL_STREAMS UINT32_MAX

enum bulk_kind {
	BULK_LATENCY = 1,
	BULK_FROM_TX,
	BULK_SEND_LAG,
	BULK_SPACING,
	BULK_LATENCY_BLOCK, /* in the order of time */
	BULK_OUTLIERS,
	BULK_ORDINARY,
	BULK_INTERRUPTIONS, /* of a thread, by its place in the answer */
};

struct bulk_header {
	char magic[8];
	uint32_t version, sections;
};

struct bulk_section {
	uint32_t kind, stream; /* bulk_kind; its place in the list, or BULK_ALL_STREAMS */
	uint64_t bytes; /* that follow */
};

/* A packet of BULK_OUTLIERS and BULK_ORDINARY; times are ns since the measured packets began. */
struct bulk_packet {
	uint32_t id, stream;
	int32_t tx_cpu, rx_cpu; /* -1: not known */
	int64_t latency_ns, from_tx_ns, send_lag_ns, intended_ns, tx_ns, rx_ns, poll_gap_ns;
};

_Static_assert(sizeof(struct bulk_header) == 16, "the protocol's layout");
_Static_assert(sizeof(struct bulk_section) == 16, "the protocol's layout");
_Static_assert(sizeof(struct bulk_packet) == 72, "the protocol's layout");

struct bulk {
	uint8_t *data;
	size_t size, capacity;
	bool failed; /* out of memory: what follows is left out */
};

/* The lists of threads, each with the scale that its ticks are converted by, and the moment from
 * which they count. */
struct bulk_list {
	const struct interruptions *of;
	struct clock_scale scale;
	uint64_t from_ticks;
};

/* The block with the lists alone, which the caller frees; NULL without memory. */
uint8_t *bulk_of_lists(const struct bulk_list *lists, unsigned count, size_t *size);

/* The block of a trial that has ended, which the caller frees; NULL without memory. */
uint8_t *bulk_of(const struct trial *t, size_t *size);

/* How many of a receiver's blocks of time it has: those that had begun. */
uint32_t bulk_blocks(const struct trial *t);

/* Adds the counts of a histogram: zigzag LEB128 numbers of which a negative one stands for so many
 * zeros, as in the V2 encoding of HdrHistogram (AbstractHistogram.fillBufferFromCountsArray). */
void bulk_counts(struct bulk *b, const struct histogram *h);

/* The text that stands for the bytes (RFC 4648), which the caller frees; NULL without memory. */
char *bulk_base64(const uint8_t *data, size_t size, size_t *length);

#endif
