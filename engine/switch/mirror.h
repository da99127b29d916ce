/*
 * mirror: copies of a port's packets, with their times, into a pcap file with
 * nanoseconds: the optical splitter of a measurement, in software. Packets are as
 * they were, so the ids of a payload that MoonSniff looks for are in their places.
 *
 *   polling thread -> a ring for each direction -> the writer, a thread of its own
 *
 * A ring has one producer (who receives from the port; who holds its lock to send)
 * and never waits: a packet for which there is no room is counted, not mirrored.
 */
#ifndef NINES_MIRROR_H
#define NINES_MIRROR_H

#include "port/port.h"

#include <stdint.h>

enum { MIRROR_RX = 1, MIRROR_TX = 2, MIRROR_PATH_MAX = 1024, MIRROR_SNAP_MAX = 65535 };

struct mirror;

struct mirror_config {
	unsigned directions; /* MIRROR_RX, MIRROR_TX or both */
	char file[MIRROR_PATH_MAX]; /* empty: ends the mirror */
	uint32_t snap_bytes; /* of a packet that are kept; 0: all */
	uint64_t id; /* of the mirror to end; 0: whichever there is */
};

struct mirror_counts {
	uint64_t packets; /* in the file */
	uint64_t dropped; /* not in it, for want of room or by an error */
	int err; /* -errno of the write that failed, after which nothing is written; or 0 */
};

/* Opens the file, new, and starts the writer. -errno with a message: -EBUSY when
 * another mirror writes to the file, which is left as it is. */
int mirror_start(struct mirror **out, const struct mirror_config *config, char *error, size_t size);

/* Writes what is left, and closes the file: when no thread puts any more. */
void mirror_stop(struct mirror *m, struct mirror_counts *counts);

struct mirror_counts mirror_counted(const struct mirror *m);

/* What no other mirror of this process has been called; never 0. */
uint64_t mirror_id(const struct mirror *m);
const struct mirror_config *mirror_configured(const struct mirror *m);

/* Polling thread: a burst that passed in one direction just now. */
void mirror_put(struct mirror *m, unsigned direction, const struct packet *burst, unsigned count);

#endif
