/*
 * mirror: copies a port's packets, with their times, into a pcap file with nanoseconds: the
 * software version of a measurement's optical splitter. Packets are unchanged, so the payload ids
 * that MoonSniff looks for are in their places.
 *
 *   polling thread -> a ring for each direction -> the writer thread
 *
 * A ring has one producer (the thread that receives from the port, or the one that holds its send
 * lock) and never waits: a packet for which there is no room is counted, not mirrored.
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
	uint32_t snap_bytes; /* bytes kept of a packet; 0: all */
	uint64_t id; /* of the mirror to end; 0: any */
};

struct mirror_counts {
	uint64_t packets; /* in the file */
	uint64_t dropped; /* not in it, for lack of room or by an error */
	int err; /* -errno of the write that failed, after which nothing is written; or 0 */
};

/* Creates or empties the file, and starts the writer. -errno with a message: -EBUSY if another
 * mirror writes to the file, which then stays unchanged. */
int mirror_start(struct mirror **out, const struct mirror_config *config, char *error, size_t size);

/* Call when no thread puts packets: writes the rest and closes the file. */
void mirror_stop(struct mirror *m, struct mirror_counts *counts);

struct mirror_counts mirror_counted(const struct mirror *m);

/* Unique in this process; never 0. */
uint64_t mirror_id(const struct mirror *m);
const struct mirror_config *mirror_configured(const struct mirror *m);

/* Called by a polling thread with a burst that passed just now in one direction. */
void mirror_put(struct mirror *m, unsigned direction, const struct packet *burst, unsigned count);

#endif
