/*
 * trailer: finds the second stamp (payload.h) in a frame of which nothing is known: a device may
 * have put headers before the first one, changed its addresses and ports, or its IP version.
 *
 * A pure function; it reads no byte outside of the frame.
 */
#ifndef NINES_TRAILER_H
#define NINES_TRAILER_H

#include "packet/payload.h"

/* The trailer's offset in an Ethernet frame without its FCS, and its stamp; -1 if it has none. It
 * ends where the outermost IP packet does, or where the frame does: some switches append a stamp of
 * their own, and short frames are padded. Checksums do not count: a damaged packet may have one. */
int trailer_find(const uint8_t *frame, uint32_t length, struct payload *out);

#endif
